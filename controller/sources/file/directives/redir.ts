import { PLACEHOLDERS } from '../../../../shared/placeholders.ts';
import { faultOfTarget } from '../../../../shared/redirect-target.ts';
import type { RedirectSpec } from '../../../../shared/route.ts';
import { quote } from '../concealed.ts';
import { didYouMean } from '../diagnostics.ts';
import { conditionFor, isMatcher } from '../matchers/matcher.ts';
import { covers, parsePathPattern } from '../matchers/path-pattern.ts';
import type { Context, Rule, SiteDraft } from '../sites/rule.ts';
import type { Word } from '../tokens/word.ts';

type Status = RedirectSpec['status'];
const STATUSES: ReadonlyMap<string, Status> = new Map([301, 302, 303, 307, 308].map((status) => [String(status), status as Status]));

const LONGEST_TARGET = 8_192;
const MOST_REDIRECTS = 1_000;

export const redir: Rule<SiteDraft> = {
  name: 'redir',
  form: 'redir <from> <to> <status>',
  scopes: ['site', 'handle'],
  args: [3, 3],
  block: 'none',
  repeats: true,
  matcher: 'instead',
  read({ name, args: [from, to, status] }, draft, { report, matchers }) {
    if (!from || !to || !status) return;
    const match = isMatcher(from) ? conditionFor(name.text, from, matchers, report) : null;
    const pattern = parsePathPattern(isMatcher(from) ? '/*' : from.text);
    if (!pattern.ok) report.error(from, `redir ${quote(from.text)}: ${pattern.reason}`);
    const code = STATUSES.get(status.text);
    if (code === undefined) report.error(status, `redir ${quote(status.text)}: the status is one of ${[...STATUSES.keys()].join(', ')}`);
    const target = readTarget(to, report);
    if (!pattern.ok || match === undefined || code === undefined || target === undefined) return;
    const earlier = draft.redirects.find(({ spec }) => (spec.match ? spec.match === match : covers(spec.from, pattern.value)));
    if (earlier)
      return report.error(
        from,
        `this redir is never reached: redir ${earlier.spec.match?.name ?? earlier.spec.from} before it answers first; move it up or delete it`,
      );
    if (draft.redirects.length === MOST_REDIRECTS) return report.error(name, `a block has at most ${MOST_REDIRECTS} redir lines`);
    draft.redirects.push({ spec: { from: pattern.value, to: target, status: code, ...(match && { match }) }, target: to });
  },
};

function readTarget(word: Word, report: Context['report']): string | undefined {
  const refuse = (why: string) => {
    report.error(word, `redir ${quote(word.text)}: ${why}`);
    return undefined;
  };
  if (!/^(?:\/|\{|[a-z][a-z0-9+.-]*:\/\/)/i.test(word.text))
    return refuse('the target is a path or a URL, for example /new or https://example.com/new');
  if (word.text.length > LONGEST_TARGET) return refuse(`the target is at most ${LONGEST_TARGET} characters long`);
  if (!/^[\x21-\x7e]*$/.test(word.text)) return refuse('the target has a character that a URL has only percent-encoded');
  for (const [whole, name = ''] of word.text.matchAll(/\{([^{}]*)\}/g)) {
    if (!PLACEHOLDERS.some((known) => known === name))
      return refuse(
        `${quote(whole)} is no placeholder${didYouMean(name, PLACEHOLDERS) || `; known are ${PLACEHOLDERS.slice(0, 5).join(', ')} in braces`}`,
      );
  }
  const fault = faultOfTarget(word.text);
  return fault === undefined ? word.text : refuse(fault);
}
