import { isConstant, templateParts } from '../../../shared/placeholders/template.ts';
import type { RespondSpec } from '../../../shared/route.ts';
import { answer, answerThroughFilters } from '../exchange/answer.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { type OwnAnswer, UNSAFE_VALUE } from '../exchange/own-answer.ts';
import type { Responder } from '../exchange/responder.ts';
import type { EvaluatedRequest } from '../exchange/values/evaluated-request.ts';
import { NO_ANSWER } from '../exchange/values/placeholders.ts';
import { compileText } from '../exchange/values/template.ts';

/** The reason logged for a response that the site itself defines. */
export const ANSWERED_BY_SITE = 'answered by the site';

/** Longest body whose text has placeholders (bytes). */
const LONGEST_BODY = 131_072;

/** `respond <status> [body]`: the same response to every request, apart from its placeholders. */
export function fixedResponder(spec: RespondSpec, remainder: (x: EvaluatedRequest) => string): Responder {
  const answerTo = fixedAnswer(spec, remainder);
  return {
    respond(x) {
      const own = answerTo(x);
      if (own === UNSAFE_VALUE) answer(x, own);
      else answerThroughFilters(x, own);
    },
    explain: () => ({ answeredBy: 'respond', words: describeAnswer(spec) }),
  };
}

/** `remainder` is what `*` of the block's pattern matched. */
export function fixedAnswer({ status, body }: RespondSpec, remainder: (x: EvaluatedRequest) => string): (x: Exchange) => OwnAnswer {
  const fields = body === '' ? '' : 'Content-Type: text/plain; charset=utf-8\r\n';
  const text = compileText(Buffer.from(body).toString('latin1'), { scope: 'request', longest: LONGEST_BODY, unsafe: null, remainder });
  if (text.constant !== null) {
    const own: OwnAnswer = { status, fields, body: Buffer.from(text.constant, 'latin1'), reason: ANSWERED_BY_SITE };
    return () => own;
  }
  return (x) => {
    const value = text.evaluate(x, NO_ANSWER);
    return value === null ? UNSAFE_VALUE : { status, fields, body: Buffer.from(value, 'latin1'), reason: ANSWERED_BY_SITE };
  };
}

export function describeAnswer({ status, body }: RespondSpec): string {
  if (body === '') return `${status}`;
  return `${status} with ${isConstant(templateParts(body, 'request')) ? sizeOf(body) : 'a text made from the request'}`;
}

function sizeOf(body: string): string {
  const bytes = Buffer.byteLength(body);
  return bytes === 1 ? '1 byte' : `${bytes} bytes`;
}
