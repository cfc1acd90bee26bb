import type { Condition } from '../../condition.ts';
import type { Grammar } from '../../config-file/directive.ts';
import { quote } from '../../config-file/quote.ts';

export const MAX_METHODS = 100;
/** Methods whose responses are framed differently, or that are for the proxy itself (RFC 9110 9.3.2, 9.3.6, 9.3.8). */
const RESERVED = ['HEAD', 'CONNECT', 'TRACE'];

type Method = { method: string; match?: Condition | undefined };

export const methodDirective: Grammar<{ methods?: Method[] | undefined }> = {
  name: 'method',
  form: 'method <METHOD>',
  args: [1, 1],
  block: 'none',
  repeats: 'conditionally',
  matcher: 'before',
  read({ name, args: [word] }, part, { report }, condition) {
    if (!word) return;
    const fault = faultOfMethod(word.text);
    if (fault !== undefined) return report.error(word, `method ${quote(word.text)}: ${fault}`);
    const { methods = [] } = part;
    if (methods.length === MAX_METHODS) return report.error(name, `a block has at most ${MAX_METHODS} method lines`);
    part.methods = [...methods, { method: word.text, ...(condition && { match: condition }) }];
  },
};

/** What is wrong with the method that an upstream should get; undefined if nothing is. */
export function faultOfMethod(method: string): string | undefined {
  if (!/^[A-Z][A-Z_-]{0,31}$/.test(method)) return 'a method consists of upper-case letters, such as GET or POST';
  return RESERVED.includes(method) ? `a request can't become ${method}` : undefined;
}
