import type { PolicyKind } from '../policy.ts';
import { passes } from '../policy.ts';
import { compileApplies } from '../rewrite/rewriting.ts';

/**
 * `method <METHOD>`: the method for the upstream. HEAD keeps its method, since its response has no body, and so do upgrades, whose method
 * is part of the handshake, and `OPTIONS *`, since no other method has that target (RFC 9112 3.2.4).
 */
export const method: PolicyKind = (route, handle) =>
  [...(route.methods ?? []), ...(handle?.methods ?? [])].map((spec) => {
    const applies = compileApplies(spec.match, route);
    return {
      name: 'method',
      decide(x) {
        if (x.method !== 'HEAD' && x.upgrade === null && x.target !== '*' && applies(x)) x.upstreamMethod = spec.method;
        return null;
      },
      explain(x) {
        if (!applies(x)) return passes(`${spec.match?.name ?? 'its condition'} does not match`);
        x.upstreamMethod = spec.method;
        return passes(`${x.method} becomes ${spec.method}`);
      },
    };
  });
