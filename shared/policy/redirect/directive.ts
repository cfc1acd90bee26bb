import { didYouMean } from '../../closest.ts';
import type { Condition } from '../../condition.ts';
import type { Grammar, Reading } from '../../config-file/directive.ts';
import { covers, parsePathPattern } from '../../config-file/path-pattern.ts';
import { quote } from '../../config-file/quote.ts';
import { isMatcher, type Word } from '../../config-file/word.ts';
import { PLACEHOLDERS } from '../../placeholders.ts';
import { faultOfTarget } from '../../redirect-target.ts';

type Status = 301 | 302 | 303 | 307 | 308;
type Part = { redirects?: { from: string; to: string; status: Status; match?: Condition | undefined }[] };
const STATUSES: ReadonlyMap<string, Status> = new Map([301, 302, 303, 307, 308].map((status) => [String(status), status as Status]));

const LONGEST_TARGET = 8_192;
const MOST_REDIRECTS = 1_000;

export const redirectDirective: Grammar<Part> = {
  name: 'redir',
  otherNames: ['redirect'],
  form: 'redir <from> <to> <status>',
  args: [3, 3],
  block: 'none',
  repeats: true,
  answers: true,
  matcher: 'instead',
  read({ name, args: [from, to, status] }, part, { report, conditionFor, sourceWords }) {
    if (!from || !to || !status) return;
    const match = isMatcher(from) ? conditionFor(name.text, from) : null;
    const pattern = parsePathPattern(isMatcher(from) ? '/*' : from.text);
    if (!pattern.ok) report.error(from, `redir ${quote(from.text)}: ${pattern.reason}`);
    const code = STATUSES.get(status.text);
    if (code === undefined)
      report.error(status, `redir ${quote(status.text)}: the status must be one of ${[...STATUSES.keys()].join(', ')}`);
    const target = readTarget(to, report);
    if (!pattern.ok || match === undefined || code === undefined || target === undefined) return;
    const { redirects = [] } = part;
    const earlier = redirects.find((other) => (other.match ? other.match === match : covers(other.from, pattern.value)));
    if (earlier)
      return report.error(
        from,
        `this redir is never reached: redir ${earlier.match?.name ?? earlier.from} above it answers first; move it up or delete it`,
      );
    if (redirects.length === MOST_REDIRECTS) return report.error(name, `a block has at most ${MOST_REDIRECTS} redir lines`);
    const spec = { from: pattern.value, to: target, status: code, ...(match && { match }) };
    part.redirects = [...redirects, spec];
    sourceWords.set(spec, to);
  },
};

function readTarget(word: Word, report: Reading['report']): string | undefined {
  const refuse = (why: string) => {
    report.error(word, `redir ${quote(word.text)}: ${why}`);
    return undefined;
  };
  if (!/^(?:\/|\{|[a-z][a-z0-9+.-]*:\/\/)/i.test(word.text))
    return refuse('the target must be a path or a URL, for example /new or https://example.com/new');
  if (word.text.length > LONGEST_TARGET) return refuse(`the target is at most ${LONGEST_TARGET} characters long`);
  if (!/^[\x21-\x7e]*$/.test(word.text)) return refuse('the target contains a character that must be percent-encoded in a URL');
  for (const [whole, name = ''] of word.text.matchAll(/\{([^{}]*)\}/g)) {
    if (!PLACEHOLDERS.some((known) => known === name))
      return refuse(
        `${quote(whole)} is not a placeholder${didYouMean(name, PLACEHOLDERS) || `; use one of ${PLACEHOLDERS.slice(0, 5).join(', ')} in braces`}`,
      );
  }
  const fault = faultOfTarget(word.text);
  return fault === undefined ? word.text : refuse(fault);
}
