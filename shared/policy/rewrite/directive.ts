import type { Condition } from '../../condition.ts';
import type { Grammar } from '../../config-file/directive.ts';
import { covers, parsePathPattern } from '../../config-file/path-pattern.ts';
import { readTemplate } from '../../config-file/placeholder.ts';
import { quote } from '../../config-file/quote.ts';
import { isMatcher, type Word } from '../../config-file/word.ts';

export const MAX_REWRITES = 1_000;
const LONGEST_URI = 8_192;
const FORM = 'rewrite [<from>] <to>';

type Rewrite = { from?: string | undefined; to: string; match?: Condition | undefined };

export const rewriteDirective: Grammar<{ rewrites?: Rewrite[] | undefined }> = {
  name: 'rewrite',
  form: FORM,
  args: [1, 2],
  block: 'none',
  repeats: true,
  matcher: 'instead',
  read({ name, args: [first, second] }, part, { report, conditionFor }) {
    const [from, to] = second ? [first, second] : [undefined, first];
    if (!to) return;
    const match = from && isMatcher(from) ? conditionFor(name.text, from) : null;
    const pattern = from && !isMatcher(from) && from.text !== '*' ? parsePathPattern(from.text) : null;
    if (pattern && !pattern.ok && from) return report.error(from, `rewrite ${quote(from.text)}: ${pattern.reason}`);
    const target = readUri(to);
    if ('fault' in target) return report.error(to, `rewrite ${quote(to.text)}: ${target.fault}`);
    if (match === undefined) return;
    const { rewrites = [] } = part;
    const path = pattern?.ok ? pattern.value : '/*';
    const earlier = rewrites.find((other) => (other.match ? other.match === match : covers(other.from ?? '/*', path)));
    if (earlier) return report.error(from ?? name, 'this rewrite is never reached: one above it applies first; move it up or delete it');
    if (rewrites.length === MAX_REWRITES) return report.error(name, `a block has at most ${MAX_REWRITES} rewrite lines`);
    part.rewrites = [...rewrites, { ...(pattern && { from: path }), to: target.text, ...(match && { match }) }];
  },
};

function readUri(word: Word): { readonly text: string } | { readonly fault: string } {
  const fault = faultOfUri(word.text);
  return fault === undefined ? readTemplate(word, 'request') : { fault };
}

/** What is wrong with the text that a path and query are rewritten to, apart from its placeholders; undefined if nothing is. */
export function faultOfUri(text: string): string | undefined {
  if (text.length > LONGEST_URI) return `the target is at most ${LONGEST_URI} characters long`;
  if (!/^[/?{]/.test(text)) return 'the target must be a path or a query, for example /new or ?lang=en';
  if (!/^[\x21-\x7e]*$/.test(text)) return 'the target contains a character that must be percent-encoded in a URL';
  if (text.includes('#')) return 'a request has no fragment: delete it from "#"';
  return /(?:^|\/)\.\.?(?:\/|\?|$)/.test(text) ? 'the target must not contain "." or ".." as a segment' : undefined;
}
