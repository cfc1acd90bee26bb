import type { RouteSpec } from '../../../../shared/route.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { InternalTools } from '../../exchange/internal-exchange.ts';
import { resumeLater } from '../../exchange/later.ts';
import type { Responder } from '../../exchange/responder.ts';
import { LATER, type Policy, type PolicyKind, passes } from '../policy.ts';
import { type CopiedFields, compileCopied, requestFields } from './fields.ts';
import { Inquiry } from './inquiry.ts';

type Spec = NonNullable<RouteSpec['forward_auth']>;

/** `forward_auth`: the block's own authentication server, or the site's if the block has none. */
export const forwardAuth: PolicyKind = (route, handle, _, { upstream, internal }) => {
  const spec = handle?.forward_auth ?? route.forward_auth;
  if (!spec) return [];
  const limits = { response_header_timeout_secs: spec.timeout_secs, read_timeout_secs: spec.timeout_secs };
  return [compile(spec, upstream(spec.upstreams, spec.tls, limits), internal)];
};

function compile(spec: Spec, server: Responder, tools: InternalTools): Policy {
  const copied: CopiedFields = compileCopied(spec.copy_headers);
  return {
    name: 'forward_auth',
    decide(x) {
      const inquiry = new Inquiry(x, requestTo(x, spec.uri), server, copied, tools);
      const verdict = inquiry.start((own) => resumeLater(x, own));
      return verdict === undefined ? LATER : verdict;
    },
    explain: () => passes(`allowed if ${spec.upstreams.join(', ')} answers GET ${spec.uri} with 2xx`),
  };
}

const requestTo = (x: Exchange, uri: string) => ({
  method: 'GET',
  target: uri,
  host: x.host,
  hostField: x.hostField,
  fields: requestFields(x),
  forwarding: `${x.forwarding}X-Forwarded-Method: ${x.method}\r\nX-Forwarded-Uri: ${x.target}\r\n`,
  address: x.client.address,
  hops: x.hops,
  secure: x.secure,
  body: null,
});
