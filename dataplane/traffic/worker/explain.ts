import type { Clock } from '../../../shared/runtime/clock.ts';
import { normalizedPath } from '../../../shared/values/path.ts';
import { AMBIGUOUS_PATH, OWN_PATH } from '../exchange/answer.ts';
import { type Downstream, Exchange } from '../exchange/exchange.ts';
import type { HostIndex } from '../match/host-index.ts';
import { isOwnPath } from '../match/own-path.ts';
import { rawPath } from '../match/path.ts';
import type { PolicyTools } from '../policy/order.ts';
import type { DryRun, DryRunResult } from '../protocol.ts';
import { blockFor, type CompiledRoute } from '../route/compile.ts';
import { type Limits, USUAL } from '../upstream/limits.ts';
import type { Pool } from '../upstream/pool.ts';

/** Nobody: a client that nothing may be sent to. */
const NOBODY: Downstream = {
  address: '127.0.0.1',
  head: sentNothing,
  informational: sentNothing,
  body: sentNothing,
  holding: false,
  end: sentNothing,
  abort: sentNothing,
  broke: sentNothing,
  flush: sentNothing,
  lend: sentNothing,
  reclaim: sentNothing,
  takeBody: sentNothing,
  streamBody: sentNothing,
  resumeBody: sentNothing,
};

function sentNothing(): never {
  throw new Error('a dry run sends nothing');
}

/** Limits of time that the site or block sets itself. */
function limitsInWords({ connectMs, headMs, bodyIdleMs }: Limits): string {
  const within = (ms: number): string => (ms === Number.POSITIVE_INFINITY ? 'at any time' : `within ${ms / 1_000} s`);
  const said = [
    connectMs === null ? '' : `connects ${within(connectMs)}`,
    headMs === USUAL.headMs ? '' : `begins its answer ${within(headMs)}`,
    bodyIdleMs === USUAL.bodyIdleMs ? '' : `sends the next piece of it ${within(bodyIdleMs)}`,
  ].filter((words) => words !== '');
  return said.length === 0 ? '' : `; it ${said.join(', ')}, or it is 504`;
}

function forwarded(pool: Pool, holdMs: number, now: number): string {
  const next = pool.peek(now);
  const count = pool.endpoints.length;
  const { stopping } = pool;
  if (next === null && stopping > 0 && holdMs === 0)
    return `forwarded to ${stopping === 1 ? 'a target that was' : `one of ${stopping} targets that were`} told to stop: no other is in rotation`;
  if (next === null) return `503${holdMs > 0 ? ` after ${holdMs / 1_000} s` : ''}: no target of the pool is in rotation`;
  const all = `forwarded to one of ${count} target${count === 1 ? '' : 's'}`;
  const failing = ', though each has failed several times in a row: 502 or 504 if it does so again';
  return `${all}${next.ejected(now) ? failing : ''}${limitsInWords(pool.limits)}`;
}

/** What would happen to a GET of this URL, asked of the very table and policies that serve. Counts and sends nothing. */
export function dryRun(request: DryRun, index: HostIndex<CompiledRoute>, tools: PolicyTools, clock: Clock): DryRunResult {
  const url = new URL(request.url);
  const host = url.hostname.replace(/\.$/, '');
  const route = index.find(host);
  const secure = url.protocol === 'https:';
  const x = new Exchange(NOBODY, {
    method: 'GET',
    target: `${url.pathname}${url.search}`,
    host,
    hostField: url.host,
    fields: `Host: ${url.host}\r\n`,
    bodyLength: 0,
    expectsContinue: false,
    secure,
    strictTransport: false,
    misdirected: false,
    // A visitor who has shown what the site asks for.
    clientRule: secure ? (route?.clientRule ?? '') : null,
    referer: null,
    upgrade: null,
    hops: 0,
    forwarding: '',
    startedAt: clock.monotonic(),
  });
  const nothing = { matched: null, block: null, policies: [], targets: [] };
  if (route === null) return { ...nothing, routed: false, verdict: `404: no route for ${host}` };
  x.route = route;
  x.path = normalizedPath(rawPath(x.target));
  const refused = isOwnPath(x.path, x.target) ? OWN_PATH : route.ambiguity?.(x) ? AMBIGUOUS_PATH : null;
  if (refused !== null) return { ...nothing, routed: true, matched: route.domain, verdict: `${refused.status}: ${refused.reason}` };
  const block = blockFor(route, x);
  if (block === null) return { ...nothing, routed: true, matched: route.domain, verdict: `404: no block of the site matches ${x.path}` };
  x.block = block;
  const policies = block.policies.flatMap((policy) => {
    const verdict = policy.explain(x, tools);
    return verdict === null ? [] : [{ name: policy.name, verdict }];
  });
  const answering = block.policies.find((policy) => policy.decide(x, { ...tools, admit: tools.wouldAdmit }) !== null);
  const targets = (block.pool?.endpoints ?? []).map((endpoint) => ({
    address: endpoint.address,
    tls: endpoint.serverName !== null,
    ...(endpoint.id !== null && { id: endpoint.id }),
    ...(endpoint.manner.name !== '' && { transport: endpoint.manner.name }),
  }));
  const verdict =
    answering !== undefined
      ? `answered by ${answering.name}: ${answering.explain(x, tools)}`
      : block.pool === null
        ? `404: no block of the site matches ${x.path}`
        : forwarded(block.pool, block.holdMs, clock.now());
  return {
    routed: true,
    verdict,
    matched: route.domain,
    block: block.index < 0 ? null : { path: block.condition?.name ?? block.pattern?.text ?? null, index: block.index },
    policies,
    targets,
  };
}
