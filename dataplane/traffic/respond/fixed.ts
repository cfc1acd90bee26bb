import type { RespondSpec } from '../../../shared/route.ts';
import { answerThroughFilters } from '../exchange/answer.ts';
import type { OwnAnswer } from '../exchange/own-answer.ts';
import type { Responder } from '../exchange/responder.ts';

/** The reason logged for a response that the site itself defines. */
export const ANSWERED_BY_SITE = 'answered by the site';

/** `respond <status> [body]`: the same response to every request. */
export function fixedResponder(spec: RespondSpec): Responder {
  const own = fixedAnswer(spec);
  return {
    respond: (x) => answerThroughFilters(x, own),
    explain: () => ({ answeredBy: 'respond', words: describeAnswer(spec) }),
  };
}

export function fixedAnswer({ status, body }: RespondSpec): OwnAnswer {
  const type = body === '' ? '' : 'Content-Type: text/plain; charset=utf-8\r\n';
  return { status, fields: type, body, reason: ANSWERED_BY_SITE };
}

export const describeAnswer = ({ status, body }: RespondSpec): string => `${status}${body === '' ? '' : ` with ${sizeOf(body)}`}`;

function sizeOf(body: string): string {
  const bytes = Buffer.byteLength(body);
  return bytes === 1 ? '1 byte' : `${bytes} bytes`;
}
