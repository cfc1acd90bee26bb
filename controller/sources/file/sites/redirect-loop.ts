import { quote, unquoted as shown } from '../../../../shared/config-file/quote.ts';
import { lineOf, type Word } from '../../../../shared/config-file/word.ts';
import type { RedirectSpec } from '../../../../shared/route.ts';
import { normalizedPath } from '../../../../shared/values/path.ts';
import type { DiagnosticReport } from '../diagnostics/diagnostics.ts';
import { FirstCovering } from '../directives/first-covering.ts';
import type { Context, SiteDraft } from '../directives/rule.ts';

/** Longer loops are not searched for, because no browser follows so many redirects. */
const LONGEST_CIRCLE = 20;

/** A redir line, and the path of its block; null for the site itself. */
type Line = { readonly spec: RedirectSpec; readonly target: Word; readonly block: string | null };

/** Where a target leads, if known: to one path, to every path below a prefix, or to the requested path. */
type Goal = { readonly kind: 'path' | 'below'; readonly pattern: string } | { readonly kind: 'same' } | { readonly kind: 'elsewhere' };

/** Reports redirects of a site that form a loop, alone or with others. `hosts` are the addresses of the site. */
export function reportRedirectLoops(
  draft: SiteDraft,
  hosts: ReadonlySet<string>,
  { report, sourceWords }: Pick<Context, 'report' | 'sourceWords'>,
): void {
  /** With a condition it is unknown whether a redirect applies. */
  const unconditional = ({ members: { redirects = [] } }: SiteDraft, block: string | null): Line[] =>
    redirects.flatMap((spec) => {
      const target = spec.match ? undefined : sourceWords.get(spec);
      return target ? [{ spec, target, block }] : [];
    });
  const ofSite = unconditional(draft, null);
  const blocks = draft.handles.filter(({ match }) => match === null);
  const ofBlocks = blocks.map(({ path, draft: inner }) => ({ path: path ?? '/*', lines: unconditional(inner, path ?? '/*') }));
  const all = [...ofSite, ...ofBlocks.flatMap(({ lines }) => lines)];
  if (all.length === 0) return;
  const goals = new Map(all.map((line) => [line, goalOf(line, hosts)]));
  const linesOfSite = indexed(ofSite);
  const linesOfBlocks = new FirstCovering<FirstCovering<Line>>();
  for (const { path, lines } of ofBlocks) linesOfBlocks.add(path, indexed(lines));
  /** The line that redirects every path of a pattern, if that is certain. */
  const answering = (pattern: string): Line | undefined => linesOfSite.find(pattern) ?? linesOfBlocks.find(pattern)?.find(pattern);
  for (const line of all) reportLoop(line, goals, answering, report);
}

function indexed(lines: readonly Line[]): FirstCovering<Line> {
  const index = new FirstCovering<Line>();
  for (const line of lines) index.add(line.spec.from, line);
  return index;
}

function reportLoop(
  line: Line,
  goals: ReadonlyMap<Line, Goal>,
  answering: (pattern: string) => Line | undefined,
  report: DiagnosticReport,
): void {
  const target = line.target;
  const quoted = `redir ${quote(line.spec.to)}`;
  let goal = goals.get(line);
  if (goal?.kind === 'same') return report.error(target, `${quoted}: this target is the requested URL, so the redirect never ends`);
  for (let step = 0, over: Line | undefined; step < LONGEST_CIRCLE; step++) {
    if (goal === undefined || goal.kind === 'elsewhere' || goal.kind === 'same') return;
    const next = answering(goal.pattern);
    if (next === line) {
      const through =
        over === undefined ? `${shown(line.spec.from)} matches this target as well` : `${lineOf(over.target, target)} leads back here`;
      return report.error(target, `${quoted}: ${through}, so the redirect never ends`);
    }
    // A loop is reported once, at its last line.
    if (next === undefined || isBehind(next, line)) return;
    over = next;
    goal = goals.get(next);
  }
}

const isBehind = (a: Line, b: Line): boolean =>
  a.target.line > b.target.line || (a.target.line === b.target.line && a.target.column > b.target.column);

const ELSEWHERE: Goal = { kind: 'elsewhere' };
/** The path may begin with a placeholder. */
const URL_PARTS = /^(?:https?:)?\/\/(\{(?:http\.request\.)?host\}|[^/?#{}]*)([^?#]*)/i;

function goalOf({ spec: { from, to } }: Line, hosts: ReadonlySet<string>): Goal {
  const [, host, urlPath = ''] = URL_PARTS.exec(to) ?? [];
  if (host !== undefined && !/^\{(?:http\.request\.)?host\}$/.test(host) && !hosts.has(host.toLowerCase())) return ELSEWHERE;
  const path = host === undefined ? to.replace(/[?#].*$/, '') : urlPath || '/';
  if (/^\{(?:http\.request\.)?(?:uri|path|uri\.path)\}$/.test(path)) return { kind: 'same' };
  const below = /^(\/[^{}*]*)\{(?:http\.request\.uri\.path\.)?remainder\}$/.exec(path)?.[1];
  if (below !== undefined && from.endsWith('*')) return { kind: 'below', pattern: `${below}*` };
  return path.startsWith('/') && !/[{}*]/.test(path) ? { kind: 'path', pattern: normalizedPath(path) } : ELSEWHERE;
}
