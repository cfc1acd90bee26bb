import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteInput } from '../../../shared/route.ts';
import { cachingProxy } from '../testing/proxy/caching-proxy.ts';
import { eventually, failedAt, get, type ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { attributesOf, awaitedSpans, type Span, spansOf } from '../testing/spans.ts';
import { ok, refusingAddress, UpstreamFixture } from '../testing/test-upstream.ts';
import { field, type Message } from '../testing/wire.ts';

const [INTERNAL, SERVER, CLIENT] = [1, 2, 3];
const FRESH = 'Cache-Control: max-age=60\r\n';

const cached = (upstream: { readonly address: string }, more: Partial<RouteInput> = {}): RouteInput => ({
  ...site('a.test', upstream),
  cache: {},
  ...more,
});
const traced = (route: RouteInput, ratio = 1): Promise<ProxyFixture> => cachingProxy(route, { tracing: { ratio, trustsClients: false } });

const kindsOf = (spans: readonly Span[]): number[] => spans.map(({ kind }) => kind);
const resultOf = (span: Span): string | undefined => attributesOf(span)['sluice.cache.result'];
const parentSentTo = (upstream: UpstreamFixture, nth: number): string | null => field(upstream.requests[nth]?.head ?? '', 'traceparent');

test('the request that the cache makes for a client is an attempt of the client’s request, and a hit has none', async () => {
  using upstream = await UpstreamFixture.serving(ok('x', FRESH));
  using proxy = await traced(cached(upstream));
  await proxy.request(get('/?a'));
  const [server = assert.fail(), attempt = assert.fail(), connect] = await awaitedSpans(proxy);
  assert.deepEqual([server.kind, attempt.kind, connect?.name, attempt.parentSpanId], [SERVER, CLIENT, 'connect', server.spanId]);
  assert.equal(resultOf(server), 'miss');
  assert.equal(attributesOf(attempt)['url.full'], `http://${upstream.address}/?a`);
  assert.equal(attempt.status, undefined);
  assert.equal(parentSentTo(upstream, 0), `00-${server.traceId}-${attempt.spanId}-01`);
  await proxy.request(get('/?a'));
  const [hit = assert.fail(), ...others] = await awaitedSpans(proxy);
  assert.deepEqual([resultOf(hit), others.length], ['hit', 0]);
});

test('of several clients that wait for one response, the attempt belongs to the one for which it was requested', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await traced(cached(upstream));
  const clients = [await proxy.connect(), await proxy.connect()];
  for (const [nth, client] of clients.entries()) {
    client.send(get());
    await eventually('it to be under way', () => proxy.ledger.inFlight.total() === nth + 1);
  }
  const { wire, request } = await upstream.nextRequest();
  wire.send(ok('x', FRESH));
  for (const client of clients) await client.readAnswer();
  const spans: Span[] = [];
  await eventually('both requests', () => {
    spans.push(...spansOf(proxy));
    return spans.filter(({ kind }) => kind === SERVER).length === 2;
  });
  const servers = spans.filter(({ kind }) => kind === SERVER);
  const attempts = spans.filter(({ kind }) => kind === CLIENT);
  assert.deepEqual(servers.map(resultOf).sort(), ['collapsed', 'miss']);
  assert.deepEqual(
    attempts.map(({ parentSpanId }) => parentSpanId),
    [servers.find((one) => resultOf(one) === 'miss')?.spanId],
  );
  assert.ok(field(request.head, 'traceparent')?.includes(`-${attempts[0]?.spanId}-`));
});

test('background requests of the cache belong to the trace of the request that caused them, and are not its attempts', async () => {
  using upstream = await UpstreamFixture.serving(ok('x', 'Cache-Control: max-age=10, stale-while-revalidate=60\r\n'));
  using proxy = await traced(cached(upstream));
  await proxy.request(get());
  await awaitedSpans(proxy);
  proxy.clock.pass(20_000);
  await proxy.request(get());
  await eventually('the refresh', () => upstream.requests.length === 2);
  const spans = await awaitedSpans(proxy);
  assert.deepEqual([kindsOf(spans), spans.map(resultOf)], [[SERVER], ['stale']]);
  assert.equal(parentSentTo(upstream, 1), `00-${spans[0]?.traceId}-${spans[0]?.spanId}-01`);
});

test('a request that is not recorded says so to the upstream when the cache sends it', async () => {
  using upstream = await UpstreamFixture.serving(ok('x', FRESH));
  using proxy = await traced(cached(upstream), 0);
  await proxy.request(get('/', `traceparent: 00-${'a'.repeat(32)}-${'b'.repeat(16)}-01\r\ntracestate: a=b\r\n`));
  assert.match(parentSentTo(upstream, 0) ?? '', /^00-a{32}-[0-9a-f]{16}-00$/);
  assert.equal(field(upstream.requests[0]?.head ?? '', 'tracestate'), 'a=b');
});

test('a fetch that waits for a target shows its wait and its attempts in the request of its client, across a swap of the table', async () => {
  using upstream = await UpstreamFixture.serving(ok('x', FRESH));
  const gone = { address: await refusingAddress() };
  using proxy = await traced(cached(gone, { hold_secs: 10 }));
  const client = await proxy.connect();
  client.send(get());
  await failedAt(proxy, gone.address);
  await proxy.publish([cached(upstream, { hold_secs: 10 })]);
  await eventually('its answer', () => {
    proxy.clock.pass(10);
    return client.unread.includes('\r\n\r\nx');
  });
  const spans = await awaitedSpans(proxy);
  const attempts = spans.filter(({ kind }) => kind === CLIENT);
  assert.deepEqual(
    attempts.map((one) => attributesOf(one)['error.type']),
    ['refused', undefined],
  );
  assert.ok(spans.some(({ name, kind }) => name === 'wait' && kind === INTERNAL));
  assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 1);
});

test('an authentication server and a mirror take part in the trace', async () => {
  using auth = await UpstreamFixture.serving(ok(''));
  using copy = await UpstreamFixture.serving(ok(''));
  using upstream = await UpstreamFixture.serving(({ head }: Message) => ok(field(head, 'traceparent') ?? 'none'));
  using proxy = await traced({
    ...site('a.test', upstream),
    forward_auth: { upstreams: [auth.address], uri: '/verify' },
    mirror: { upstream: copy.address, percent: 100 },
  });
  await proxy.request(get());
  const [server = assert.fail(), ...others] = await awaitedSpans(proxy);
  assert.equal(others.filter(({ kind }) => kind === CLIENT).length, 1);
  await eventually('the copy', () => copy.requests.length === 1);
  for (const one of [auth, copy]) assert.equal(parentSentTo(one, 0), `00-${server.traceId}-${server.spanId}-01`);
});
