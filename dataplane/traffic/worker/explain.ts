import type { Clock } from '../../../shared/runtime/clock.ts';
import { normalizedPath } from '../../../shared/values/path.ts';
import { FAULT } from '../codec/http1/fault.ts';
import { fieldIn } from '../codec/http1/kept-lines.ts';
import { MAX_TARGET } from '../codec/http1/request-head.ts';
import { type Downstream, Exchange, type RequestPath } from '../exchange/exchange.ts';
import { AMBIGUOUS_PATH } from '../exchange/own-answer.ts';
import { ANY_PORT, type HostIndex } from '../match/host-index.ts';
import { isOwnPath } from '../match/own-path.ts';
import { rawPath, withoutPrefix } from '../match/path.ts';
import { clientAuthAt } from '../policy/client-certificate/client-auth.ts';
import type { PolicyTools } from '../policy/policy.ts';
import type { DryRun, DryRunResult } from '../protocol.ts';
import { blockFor, passthroughAt } from '../route/choose.ts';
import type { CompiledBlock, CompiledRoute } from '../route/compiled-route.ts';
import type { Pool } from '../upstream/pool/pool.ts';

/** A placeholder client to which nothing may be sent. */
const DISCARD: Downstream = {
  address: '127.0.0.1',
  facts: () => ({ connection: { address: '127.0.0.1', port: null, tls: null, local: null }, protocol: 'HTTP/1.1', bodyRead: 0 }),
  head: throwSent,
  informational: throwSent,
  body: throwSent,
  unsent: 0,
  end: throwSent,
  abort: throwSent,
  onFault: throwSent,
  flush: throwSent,
  detach: throwSent,
  reattach: throwSent,
  bufferBody: throwSent,
  streamBody: throwSent,
  resumeBody: throwSent,
};

/** A dry run is not forwarded. */
const NOWHERE: RequestPath = { serve: throwSent, resume: throwSent, routedAs: (x) => x };

function throwSent(): never {
  throw new Error('a dry run sends nothing');
}

/** The ports that are open, the main ones first. */
type OpenPorts = { readonly http: readonly number[]; readonly https: readonly number[] };

/** The port that the URL names, if it is one of ours; else the main one, because others may be forwarded to it. */
function arrivalPort(url: URL, { http, https }: OpenPorts): number {
  const secure = url.protocol === 'https:';
  const ports = secure ? https : http;
  const said = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  return ports.includes(said) ? said : (ports[0] ?? said);
}

/** Why no route serves a host at this port. */
function unrouted(host: string, port: number, index: HostIndex<CompiledRoute>): string {
  const elsewhere = index.find(host, ANY_PORT);
  if (elsewhere === null) return `no route for ${host}`;
  if (elsewhere.ports?.length === 0) return `${elsewhere.domain} only passes TLS connections through`;
  return `${elsewhere.domain} is not served on port ${port}, only on ${elsewhere.ports?.join(', ')}`;
}

export type DryRunTools = {
  readonly index: HostIndex<CompiledRoute>;
  readonly policies: PolicyTools;
  readonly clock: Clock;
  readonly ports: OpenPorts;
};

/** What would happen to a GET of this target, according to the live table and policies. Counts and sends nothing. */
export function dryRun({ origin, target }: DryRun, tools: DryRunTools): DryRunResult {
  const { index, ports } = tools;
  const url = new URL(origin);
  const host = hostOf(url);
  const secure = url.protocol === 'https:';
  const port = arrivalPort(url, ports);
  const nothing = { port, matched: null, block: null, policies: [], targets: [] };
  const passed = secure ? passthroughAt(index, host, port, null) : null;
  if (passed !== null) {
    const targets = targetsOf(passed.passthrough.pool);
    const words = `the TLS connection is passed through to ${targets.map(({ address }) => address).join(', ') || 'no target'}`;
    return { ...nothing, routed: true, matched: passed.route.domain, verdict: words, targets };
  }
  if (target.length > MAX_TARGET) return { ...nothing, routed: false, verdict: `${FAULT.longTarget.status}: ${FAULT.longTarget.reason}` };
  const route = index.find(host, port);
  if (route === null) return { ...nothing, routed: false, verdict: `404: ${unrouted(host, port, index)}` };
  const x = getOf(target, url, port, route, tools.clock);
  const found = { ...nothing, routed: true, matched: route.domain };
  if (isOwnPath(x.path, x.target)) return { ...found, verdict: route.ownPaths.explain(x.path) };
  if (route.ambiguity?.(x)) return { ...found, verdict: `${AMBIGUOUS_PATH.status}: ${AMBIGUOUS_PATH.reason}` };
  const block = blockFor(route, x);
  if (block === null) return { ...found, verdict: `404: no block of the site matches ${x.path}` };
  return { ...found, ...explainBlock(x, block, tools) };
}

const hostOf = (url: URL): string => url.hostname.replace(/\.$/, '');

/** A GET of this target that has reached its route. */
function getOf(target: string, url: URL, port: number, route: CompiledRoute, clock: Clock): Exchange {
  const secure = url.protocol === 'https:';
  const x = new Exchange(DISCARD, NOWHERE, {
    method: 'GET',
    target,
    host: hostOf(url),
    hostField: url.host,
    fields: `Host: ${url.host}\r\n`,
    bodyLength: 0,
    expectsContinue: false,
    port,
    secure,
    strictTransport: false,
    misdirected: false,
    // Assumes a client that has presented the required certificate.
    clientRule: secure ? (clientAuthAt(route.clientAuth, port, null)?.rule ?? '') : null,
    referer: null,
    userAgent: null,
    fetchDestination: null,
    privacyControl: false,
    prefetch: false,
    bindsConnection: false,
    upgrade: null,
    hops: 0,
    forwarding: '',
    startedAt: clock.monotonic(),
    trace: null,
  });
  // The first of the groups that divide its requests, so that the same question gets the same answer.
  x.draw = 0;
  x.route = route;
  x.path = normalizedPath(rawPath(target));
  return x;
}

type BlockExplanation = Pick<DryRunResult, 'block' | 'policies' | 'targets' | 'verdict'>;

/** What the policies of the block would do with the request, and what would respond. */
function explainBlock(x: Exchange, block: CompiledBlock, { policies: tools, clock }: DryRunTools): BlockExplanation {
  x.block = block;
  if (block.strip !== '') x.upstreamTarget = withoutPrefix(x.target, block.strip, block.folds);
  const asked = block.policies.flatMap((policy) => {
    const explanation = policy.explain(x, tools);
    return explanation === null ? [] : [{ name: policy.name, ...explanation }];
  });
  const last = block.responder?.explain(clock.now()) ?? { answeredBy: null, words: `404: no block of the site matches ${x.path}` };
  if (last.answeredBy !== null) asked.push({ name: last.answeredBy, words: last.words, answers: true });
  else
    for (const filter of block.filters ?? [])
      if (filter.explain) asked.push({ name: filter.name, words: filter.explain(), answers: false });
  if (block.errorPages !== null) asked.push({ name: 'handle_errors', words: block.errorPages.explain(), answers: false });
  const answering = asked.find(({ answers }) => answers);
  if (answering === undefined && block.pool !== null) asked.push(...forwarded(x));
  return {
    verdict: answering === undefined ? last.words : `answered by ${answering.name}: ${answering.words}`,
    block: block.index < 0 ? null : { path: block.condition?.name ?? block.pattern?.text ?? null, index: block.index },
    policies: asked.map(({ name, words }) => ({ name, verdict: words })),
    targets: block.pool === null ? [] : targetsOf(block.pool),
  };
}

const targetsOf = ({ endpoints }: Pool): DryRunResult['targets'] =>
  endpoints.map((endpoint) => ({
    address: endpoint.address,
    tls: endpoint.serverName !== null,
    ...(endpoint.id !== null && { id: endpoint.id }),
    ...(endpoint.transport.name !== '' && { transport: endpoint.transport.name }),
  }));

/** The request that the upstream would get, where it differs from the client's. */
function forwarded(x: Exchange): { name: string; words: string; answers: false }[] {
  if (x.upstreamTarget === x.target && x.upstreamMethod === x.method && x.hostOfTarget === null && x.upstreamFields === x.fields) return [];
  const host =
    x.hostOfTarget === null
      ? (fieldIn(x.upstreamFields, 'host') ?? '')
      : `the ${x.hostOfTarget === 'host' ? 'name' : 'address'} of the target`;
  // The query may contain a secret of the site.
  const target = x.upstreamTarget.includes('?') ? `${rawPath(x.upstreamTarget)}?…` : x.upstreamTarget;
  return [{ name: 'forwarded', words: `${x.upstreamMethod} ${target} with Host: ${host}`, answers: false }];
}
