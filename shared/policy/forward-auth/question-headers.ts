import type { DirectiveContext } from '../../config-file/directive.ts';
import { quote } from '../../config-file/quote.ts';
import type { Word } from '../../config-file/word.ts';
import { isSentAnyway, type RequestHeaderPart, readRequestHeader, SENT_ANYWAY, type SentAnyway } from '../request-header/directive.ts';

/** Fields about the client's request that the authentication server always gets, with the values that Caddyfiles set. */
const ABOUT_REQUEST: SentAnyway = new Map([
  ['x-forwarded-method', ['{method}', '{http.request.method}']],
  ['x-forwarded-uri', ['{uri}', '{http.request.uri}']],
]);
const SENT: SentAnyway = new Map([...SENT_ANYWAY, ...ABOUT_REQUEST]);

/**
 * Why a field of the question can't be changed; undefined if it can. The server bases its decision on these, so they always have the values
 * of the request.
 */
export const faultOfQuestionHeader = (name: string): string | undefined =>
  ABOUT_REQUEST.has(name.toLowerCase().replaceAll('_', '-'))
    ? 'the proxy itself sets this header, from the request that is decided about; delete the line'
    : undefined;

/** Reads the arguments of `header_up` in the block of forward_auth, which changes what the authentication server gets. */
export function readQuestionHeader(name: Word, values: readonly Word[], auth: RequestHeaderPart, report: DirectiveContext['report']): void {
  if (isSentAnyway(name, values, SENT, report)) return;
  const fault = faultOfQuestionHeader(name.text.replace(/^[+?-]/, ''));
  if (fault === undefined) readRequestHeader('header_up', { name, args: values }, {}, auth, report);
  else report.error(name, `header_up ${quote(name.text)}: ${fault}`);
}
