import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { FAILURES_TO_EJECT } from '../../../ledger/targets.ts';
import { connectFailure, FAILURE } from '../../exchange/failure.ts';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, refusingAddress, UpstreamFixture } from '../../testing/test-upstream.ts';

const reports = (proxy: ProxyFixture) => {
  proxy.counted();
  return proxy.messages.flatMap((message) => (message.kind === 'report' ? [message.report] : []));
};
const counted = (proxy: ProxyFixture) => reports(proxy).flatMap(({ domains }) => domains.flatMap(({ failures }) => failures));

test('a request that an upstream failure ends is counted with its reason, and the target with its own', async () => {
  const address = await refusingAddress();
  using proxy = await ProxyFixture.before({ address });
  await proxy.request(get());
  const seen = reports(proxy);
  assert.deepEqual(
    seen.flatMap(({ domains }) => domains.flatMap(({ failures }) => failures)),
    [['refused', 1]],
  );
  assert.deepEqual(
    seen.flatMap(({ targets = [] }) => targets),
    [{ address, tls: false, count: 1, code: 'refused', reason: FAILURE.refused.reason, at: proxy.clock.now() }],
  );
});

test('a failure that a retry recovered from counts for the target, not for the request', async () => {
  const address = await refusingAddress();
  using other = await UpstreamFixture.serving(ok('fine'));
  using proxy = await ProxyFixture.before({ address }, other);
  assert.equal((await proxy.request(get())).body, 'fine');
  const seen = reports(proxy);
  assert.deepEqual(
    seen.flatMap(({ domains }) => domains.flatMap(({ failures }) => failures)),
    [],
  );
  assert.deepEqual(
    seen.flatMap(({ targets = [] }) => targets.map((target) => [target.address, target.count])),
    [[address, 1]],
  );
});

test('a pool without targets in rotation has a reason of its own, and a truncated response counts under its cause', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([
    { ...site('b.test'), upstreams: [{ address: '127.0.0.1:1', state: 'unhealthy' }] },
    site('a.test', upstream),
  ]);
  await proxy.request(get().replace('a.test', 'b.test'));
  const client = await proxy.connect();
  client.send(get());
  const { wire } = await upstream.nextRequest();
  wire.send('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc');
  await client.readHead();
  wire.end();
  await eventually('the exchange to end', () => proxy.ledger.inFlight.total() === 0);
  assert.deepEqual(counted(proxy), [
    ['no_target', 1],
    ['closed', 1],
  ]);
});

test('a connection that fails for lack of file descriptors is a 503 and does not blame the target', () => {
  const noPort = { code: 'EADDRNOTAVAIL', address: '10.0.0.1', port: 80 };
  assert.equal(connectFailure(Object.assign(new Error(noPort.code), noPort)), FAILURE.noPorts);
  for (const code of ['EMFILE', 'ENFILE']) assert.equal(connectFailure(Object.assign(new Error(code), { code })), FAILURE.noDescriptors);
  assert.deepEqual([FAILURE.noDescriptors.status, FAILURE.noDescriptors.blamesTarget], [503, false]);
});

test('a dry run does not advance the round robin', async () => {
  using first = await UpstreamFixture.serving(ok('first'));
  using second = await UpstreamFixture.serving(ok('second'));
  using proxy = await ProxyFixture.before(first, second);
  const answers: string[] = [];
  for (let nth = 0; nth < 4; nth++) {
    assert.equal(proxy.dryRun('http://a.test/').verdict, 'forwarded to one of 2 targets');
    answers.push((await proxy.request(get())).body);
  }
  assert.deepEqual(answers, ['first', 'second', 'first', 'second']);
});

test('explain reports what a pool would do: wait, answer 503, or try targets that fail', async () => {
  using proxy = await ProxyFixture.start([
    { ...site('a.test'), upstreams: [{ address: '127.0.0.1:1', state: 'starting' }], hold_secs: 10 },
    site('b.test', { address: await refusingAddress() }),
  ]);
  assert.equal(proxy.dryRun('http://a.test/').verdict, '503 after 10 s: no target of the pool is in rotation');
  for (let nth = 0; nth < FAILURES_TO_EJECT; nth++) await proxy.request(get().replace('a.test', 'b.test'));
  assert.match(proxy.dryRun('http://b.test/').verdict, /^forwarded to its only target, though it has failed/);
});

test('the reference lists exactly the reasons that exist, with their statuses', () => {
  const reference = readFileSync(new URL('../../../../docs/reference/metrics.md', import.meta.url), 'utf8');
  const listed = [...reference.matchAll(/^- `(\w+)` \((50\d)\): /gm)].map(([, code, status]) => `${code} ${status}`);
  assert.deepEqual(
    listed.sort(),
    Object.values(FAILURE)
      .map(({ code, status }) => `${code} ${status}`)
      .sort(),
  );
});
