import type { HandleSpec, RespondSpec, RouteSpec } from '../../../../shared/route.ts';
import type { OwnAnswer } from '../../exchange/answer.ts';
import { compileCondition } from '../../match/condition.ts';
import { foldsPaths } from '../../match/pattern.ts';
import type { Policy, PolicyKind } from '../order.ts';

/** Why the proxy itself answers, where its site says so. */
export const ANSWERED_BY_SITE = 'answered by the site';

/**
 * `respond <status> [body]`: first those with a matcher, the site's before the block's own; then the block's own, or
 * the site's where the block has neither answer nor upstream.
 */
export const respond: PolicyKind = (route, handle) => {
  const spec = fixedAnswer(route, handle);
  return [...conditional(route, handle), ...(spec === null ? [] : [always(spec)])];
};

function fixedAnswer(route: RouteSpec, handle: HandleSpec | null): RespondSpec | null {
  if (handle === null) return route.respond;
  return handle.respond ?? (handle.upstreams.length === 0 ? route.respond : null);
}

function always(spec: RespondSpec): Policy {
  const answer = answerOf(spec);
  return { name: 'respond', decide: () => answer, explain: () => inWords(spec) };
}

function conditional(route: RouteSpec, handle: HandleSpec | null): Policy[] {
  return [...(route.responds ?? []), ...(handle?.responds ?? [])].map((spec) => {
    const answer = answerOf(spec);
    const matches = compileCondition(spec.match, foldsPaths(route));
    return {
      name: 'respond',
      decide: (x) => (matches(x.path, x) ? answer : null),
      explain: (x) => (matches(x.path, x) ? inWords(spec) : `${spec.match.name ?? 'its condition'} does not match`),
    };
  });
}

function answerOf({ status, body }: RespondSpec): OwnAnswer {
  const type = body === '' ? '' : 'Content-Type: text/plain; charset=utf-8\r\n';
  return { status, fields: type, body, reason: ANSWERED_BY_SITE };
}

const inWords = ({ status, body }: RespondSpec): string => `${status}${body === '' ? '' : ` with ${sizeOf(body)}`}`;

function sizeOf(body: string): string {
  const bytes = Buffer.byteLength(body);
  return bytes === 1 ? '1 byte' : `${bytes} bytes`;
}
