import type { OwnAnswer } from '../../answer.ts';
import type { PolicyKind } from '../order.ts';

/** `respond <status> [body]`: the block's own, or the site's where the block has neither answer nor upstream. */
export const respond: PolicyKind = (route, handle) => {
  const spec = handle === null ? route.respond : (handle.respond ?? (handle.upstreams.length === 0 ? route.respond : null));
  if (spec === null) return [];
  const type = spec.body === '' ? '' : 'Content-Type: text/plain; charset=utf-8\r\n';
  const answer: OwnAnswer = { status: spec.status, fields: type, body: spec.body, reason: 'answered by the site' };
  return [
    {
      name: 'respond',
      decide: () => answer,
      explain: () => `${spec.status}${spec.body === '' ? '' : ` with ${Buffer.byteLength(spec.body)} bytes`}`,
    },
  ];
};
