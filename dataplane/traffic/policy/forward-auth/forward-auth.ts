import type { RouteSpec } from '../../../../shared/route.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { type InternalRequest, type InternalTools, onBehalfOf } from '../../exchange/internal-exchange.ts';
import { resumeLater } from '../../exchange/later.ts';
import { type OwnAnswer, UNSAFE_VALUE } from '../../exchange/own-answer.ts';
import type { Responder } from '../../exchange/responder.ts';
import type { EvaluatedRequest } from '../../exchange/values/evaluated-request.ts';
import { LONGEST_FIELD_VALUE } from '../../exchange/values/template.ts';
import { remainderIn } from '../../match/pattern.ts';
import { LATER, type Policy, type PolicyKind, passes } from '../policy.ts';
import { type CopiedFields, compileCopied } from './fields.ts';
import { Inquiry } from './inquiry.ts';
import { compileQuestionFields } from './question-fields.ts';
import { compileReturn, compileUri } from './targets.ts';

type Spec = NonNullable<RouteSpec['forward_auth']>;

/** `forward_auth`: the block's own authentication server, or the site's if the block has none. */
export const forwardAuth: PolicyKind = (route, handle, _, { upstream, internal }) => {
  const spec = handle?.forward_auth ?? route.forward_auth;
  if (!spec) return [];
  const limits = { response_header_timeout_secs: spec.timeout_secs, read_timeout_secs: spec.timeout_secs };
  return [compile(spec, upstream(spec.upstreams, spec.tls, limits), internal, remainderIn(route, handle))];
};

function compile(spec: Spec, server: Responder, tools: InternalTools, remainder: (x: EvaluatedRequest) => string): Policy {
  const uri = compileUri(spec.uri, remainder);
  const rejections = (spec.rejections ?? []).map(({ to, ...rest }) => ({ ...rest, location: compileReturn(to, remainder) }));
  const copied: CopiedFields = compileCopied(spec.copy_headers);
  const changes = spec.request_headers ?? [];
  const { fieldsFor, hostOfTarget } = compileQuestionFields(changes, remainder);
  const changed = changes.length === 0 ? '' : `; header_up changes ${changes.map(({ name }) => name).join(', ')}`;
  const passesCookies = spec.pass_cookies === true;
  const redirectFor = (x: Exchange, rejected: number): OwnAnswer | null => {
    const rejection = rejections.find(({ statuses }) => statuses.includes(rejected) || statuses.includes(Math.floor(rejected / 100)));
    const location = rejection?.location(x) ?? null;
    if (rejection === undefined || location === null) return null;
    const { status } = rejection;
    const reason = `the authentication server answered ${rejected}, which redirects the client`;
    return { status, fields: `Location: ${location}\r\nCache-Control: no-store\r\n`, body: null, reason };
  };
  return {
    name: 'forward_auth',
    decide(x) {
      const target = uri(x);
      if (target === null) return UNFIT;
      const fields = fieldsFor(x);
      if (fields === null) return UNSAFE_VALUE;
      const use = { copied, passesCookies, redirectFor: (status: number) => redirectFor(x, status) };
      const inquiry = new Inquiry(x, requestTo(x, target, fields, hostOfTarget), server, use, tools);
      const verdict = inquiry.start((own) => resumeLater(x, own));
      return verdict === undefined ? LATER : verdict;
    },
    decidesField: copied.decides,
    explain: () => passes(`allowed if ${spec.upstreams.join(', ')} answers GET ${withoutQuery(spec.uri)} with 2xx${changed}`),
  };
}

const UNFIT: OwnAnswer = {
  status: 400,
  fields: '',
  body: null,
  reason: `the path for the authentication server would have ".." as a segment, or more than ${LONGEST_FIELD_VALUE} bytes`,
};

const requestTo = (x: Exchange, uri: string, fields: string, hostOfTarget: InternalRequest['hostOfTarget']): InternalRequest => ({
  ...onBehalfOf(x),
  method: 'GET',
  target: uri,
  fields,
  hostOfTarget: hostOfTarget ?? null,
  forwarding: `${x.forwarding}X-Forwarded-Method: ${x.method}\r\nX-Forwarded-Uri: ${x.target}\r\n`,
  body: null,
  trace: x.trace?.withoutSpans() ?? null,
});

/** The query may be a key for the server. */
const withoutQuery = (uri: string): string => uri.replace(/\?.*/, '?…');
