import { firstOf } from '../../../../shared/config-file/directive.ts';
import { lineOf } from '../../../../shared/config-file/word.ts';
import type { DiagnosticReport } from '../diagnostics/diagnostics.ts';
import type { SiteDraft } from '../directives/rule.ts';

/** Directives that only matter to upstreams, or to upstreams and files: without these they would silently do nothing. */
const NEED_UPSTREAMS = ['lb_policy', 'health_uri', 'hold', 'transport', 'cache', 'method', 'request_header'];
const NEED_TARGETS = ['rewrite', 'uri'];

/** Warns of directives that have no effect where they are. Those of an imported text may be for other sites. */
export function reportWithoutEffect(site: SiteDraft, report: DiagnosticReport): void {
  const parts = [site, ...site.handles.map(({ draft }) => draft)];
  for (const draft of parts) {
    const sharing = draft === site ? parts : usesOwnResponse(draft) ? [draft] : [draft, site];
    const where = draft === site ? 'the site has' : 'the handle and its site have';
    const warn = (names: readonly string[], responders: readonly string[]): void => {
      if (sharing.some((part) => has(part, responders))) return;
      for (const name of names) {
        const word = firstOf(draft.seen, name);
        if (word && !word.from) report.warn(word, `${name} has no effect: ${where} no ${responders.join(' and no ')}`);
      }
    };
    warn(NEED_UPSTREAMS, ['reverse_proxy']);
    warn(NEED_TARGETS, ['reverse_proxy', 'file_server']);
  }
  reportUnreachedResponse(site, report);
}

/** The response of a site is for requests that no block matches, and for blocks without one of their own. */
function reportUnreachedResponse({ seen, handles }: SiteDraft, report: DiagnosticReport): void {
  const every = handles.find(({ path, match, group }) => (path === null || path === '/*') && match === null && group === undefined);
  if (every === undefined || !handles.every(({ draft }) => usesOwnResponse(draft) || has(draft, ['reverse_proxy']))) return;
  for (const name of ['respond', 'reverse_proxy']) {
    const word = firstOf(seen, name);
    const where = word && lineOf(every.place, word);
    if (word && !word.from)
      report.warn(word, `${name} has no effect: the handle for all paths in ${where} takes every request that no other one does`);
  }
}

/** A block with its own response does not use the upstreams of its site, unless the response has a condition. */
const usesOwnResponse = (draft: SiteDraft): boolean => draft.members.respond != null || has(draft, ['file_server']);

const has = ({ seen }: SiteDraft, names: readonly string[]): boolean => names.some((name) => firstOf(seen, name));
