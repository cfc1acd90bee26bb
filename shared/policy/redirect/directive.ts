import { didYouMean } from '../../closest.ts';
import type { Condition } from '../../condition.ts';
import type { Directive, DirectiveContext, Grammar } from '../../config-file/directive.ts';
import { covers, parsePathPattern } from '../../config-file/path-pattern.ts';
import { quote } from '../../config-file/quote.ts';
import { isMatcher, type Word } from '../../config-file/word.ts';
import { parseTemplate } from '../../placeholders/template.ts';
import { faultOfTarget } from '../../redirect-target.ts';

/** 200 is a page that contains the redirect. */
type Status = 200 | 301 | 302 | 303 | 307 | 308;
type RedirectMembers = { redirects?: { from: string; to: string; status: Status; match?: Condition | undefined }[] };
const NUMBERS = [301, 302, 303, 307, 308] as const;
const STATUSES: ReadonlyMap<string, Status> = new Map<string, Status>([
  ...NUMBERS.map((status) => [`${status}`, status] as const),
  ['permanent', 301],
  ['temporary', 302],
  ['html', 200],
]);
/** As in Caddy. */
const DEFAULT_STATUS = 'temporary';
const FORM = 'redir [<from>] <to> [<status>]';

const LONGEST_TARGET = 8_192;
const MAX_REDIRECTS = 1_000;

export const redirectDirective: Grammar<RedirectMembers> = {
  name: 'redir',
  otherNames: ['redirect'],
  form: FORM,
  args: [1, 3],
  block: 'none',
  repeats: true,
  answers: true,
  matcher: 'instead',
  read({ name, args }, part, { report, conditionFor, sourceWords }) {
    const { from, to, status } = rolesOf(args);
    if (!to) return report.error(name, `redir is missing an argument: write ${FORM}`);
    const match = from && isMatcher(from) ? conditionFor(name.text, from) : null;
    const pattern = parsePathPattern(!from || isMatcher(from) ? '/*' : from.text);
    if (from && !pattern.ok) report.error(from, `redir ${quote(from.text)}: ${pattern.reason}`);
    const code = STATUSES.get(status?.text ?? DEFAULT_STATUS);
    if (status && code === undefined)
      report.error(
        status,
        `redir ${quote(status.text)}${didYouMean(status.text, [...STATUSES.keys()]) || `: the status must be one of ${[...STATUSES.keys()].join(', ')}`}`,
      );
    const target = readTarget(to, report);
    if (!pattern.ok || match === undefined || code === undefined || target === undefined) return;
    const { redirects = [] } = part;
    const earlier = redirects.find((other) => (other.match ? other.match === match : covers(other.from, pattern.value)));
    if (earlier)
      return report.error(
        from ?? name,
        `this redir is never reached: redir ${earlier.match?.name ?? earlier.from} above it answers first; move it up or delete it`,
      );
    if (redirects.length === MAX_REDIRECTS) return report.error(name, `a block has at most ${MAX_REDIRECTS} redir lines`);
    const spec = { from: pattern.value, to: target, status: code, ...(match && { match }) };
    part.redirects = [...redirects, spec];
    sourceWords.set(spec, to);
  },
};

/** `redir [*] <to> [<status>]` where the path does not matter; null if there is a mistake, which is reported. */
export function readRedirect(
  { name, args }: Directive,
  report: DirectiveContext['report'],
): { to: string; status: Exclude<Status, 200> } | null {
  const [to, status, extra] = args[0]?.text === '*' ? args.slice(1) : args;
  const code = STATUSES.get(status?.text ?? DEFAULT_STATUS);
  if (!to || extra) report.error(extra ?? name, 'write redir <to> [<status>]');
  else if (code === undefined || code === 200)
    report.error(status ?? name, `the status of a redirect must be one of ${NUMBERS.join(', ')}, permanent, temporary`);
  else {
    const target = readTarget(to, report);
    if (target !== undefined) return { to: target, status: code };
  }
  return null;
}

/** A target alone redirects every path; a path or a matcher before it comes first. */
function rolesOf([first, second, third]: readonly Word[]): { from?: Word | undefined; to?: Word | undefined; status?: Word | undefined } {
  if (third) return { from: first, to: second, status: third };
  const isTarget = first !== undefined && !isMatcher(first) && !first.text.startsWith('/');
  if (isTarget && (!second || !isPath(second))) return { to: first, status: second };
  return second && !STATUSES.has(second.text) ? { from: first, to: second } : {};
}

const isPath = ({ text }: Word): boolean => /^[/{]|:\/\//.test(text);

function readTarget(word: Word, report: DirectiveContext['report']): string | undefined {
  const refuse = (why: string) => {
    report.error(word, `redir ${quote(word.text)}: ${why}`);
    return undefined;
  };
  if (!/^(?:\/|\{|[a-z][a-z0-9+.-]*:\/\/)/i.test(word.text))
    return refuse('the target must be a path or a URL, for example /new or https://example.com/new');
  if (word.text.length > LONGEST_TARGET) return refuse(`the target is at most ${LONGEST_TARGET} characters long`);
  if (!/^[\x21-\x7e]*$/.test(word.text)) return refuse('the target contains a character that must be percent-encoded in a URL');
  const template = parseTemplate(word.text, 'request');
  if ('fault' in template) return refuse(`${quote(template.written)} ${template.fault}`);
  const fault = faultOfTarget(word.text);
  return fault === undefined ? word.text : refuse(fault);
}
