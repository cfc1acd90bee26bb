import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { FAILURES_TO_EJECT } from '../../../ledger/targets.ts';
import { Http2UpstreamFixture, okay } from '../../testing/http2/upstream.ts';
import { ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, refusingAddress, UpstreamFixture } from '../../testing/test-upstream.ts';

/** Of clients with these addresses, behind a trusted proxy. */
const [ATTACKER, VISITOR, THIRD] = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];
const LOOPBACK = ['127.0.0.0/8'];

const request = (line: string, from: string | undefined): string =>
  `${line} HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: ${from}\r\nContent-Length: 0\r\n\r\n`;

/** Closes the connection of a request for /crash, and answers all others with its name. */
const crashing = (name: string): Promise<UpstreamFixture> =>
  UpstreamFixture.serving(({ line }, wire) => {
    if (!line.includes(' /crash ')) return ok(name);
    wire.end();
    return null;
  });

async function crash(proxy: ProxyFixture, from: string | undefined, times: number): Promise<void> {
  for (let nth = 0; nth < times; nth++) await proxy.request(request('POST /crash', from));
}

/** @returns what a client's next requests are answered with. */
async function answers(proxy: ProxyFixture, from: string | undefined): Promise<string[]> {
  const bodies: string[] = [];
  for (let nth = 0; nth < 4; nth++) bodies.push((await proxy.request(request('GET /', from))).body);
  return bodies.sort();
}

test('targets that close the connections of one client’s requests get no more of that client’s, and all of the others', async () => {
  using one = await crashing('one');
  using other = await crashing('other');
  using proxy = await ProxyFixture.start([{ ...site('a.test', one, other), passive_health: { max_fails: 2 } }], LOOPBACK);
  await crash(proxy, ATTACKER, 3);
  assert.deepEqual(await answers(proxy, VISITOR), ['one', 'one', 'other', 'other']);
});

test('such a target does not start slowly for the others once it has responded to one of them', async () => {
  using one = await crashing('one');
  using other = await UpstreamFixture.serving(ok('other'));
  const route = { ...site('a.test', one, other), passive_health: { max_fails: 2 }, slow_start_secs: 100 };
  using proxy = await ProxyFixture.start([route], LOOPBACK);
  await answers(proxy, VISITOR);
  proxy.clock.pass(101_000);
  await crash(proxy, ATTACKER, 4);
  await answers(proxy, VISITOR);
  assert.deepEqual(await answers(proxy, VISITOR), ['one', 'one', 'other', 'other']);
});

test('such a target is out for the client that it has failed, until it responds to someone', async () => {
  using bad = await crashing('bad');
  using good = await UpstreamFixture.serving(ok('good'));
  using proxy = await ProxyFixture.start([site('a.test', bad, good)], LOOPBACK);
  await crash(proxy, ATTACKER, 2 * FAILURES_TO_EJECT);
  assert.deepEqual(await answers(proxy, ATTACKER), ['good', 'good', 'good', 'good']);
  assert.deepEqual(await answers(proxy, VISITOR), ['bad', 'bad', 'good', 'good']);
  assert.deepEqual(await answers(proxy, ATTACKER), ['bad', 'bad', 'good', 'good']);
  assert.deepEqual(
    proxy.targetChanges().map(({ healthy }) => healthy),
    [false, true],
  );
});

test('that it is out for all is reported and logged as well, if it fails others after that', async () => {
  using bad = await crashing('bad');
  using good = await UpstreamFixture.serving(ok('good'));
  using proxy = await ProxyFixture.start([site('a.test', bad, good)], LOOPBACK);
  const reported = () => proxy.targetChanges().map(({ healthy, forOneClient }) => [healthy, forOneClient ?? false]);
  await crash(proxy, ATTACKER, 2 * FAILURES_TO_EJECT);
  assert.deepEqual(reported(), [[false, true]]);
  await crash(proxy, VISITOR, 4);
  assert.deepEqual(reported().slice(1), [[false, false]]);
  assert.deepEqual(
    proxy.log.lines.flatMap(({ message }) => (message.startsWith('target out') ? [message] : [])),
    ['target out of rotation for one client', 'target out of rotation'],
  );
});

test('a target that closes the connections of several clients in a row is out for all', async () => {
  using bad = await crashing('bad');
  using good = await UpstreamFixture.serving(ok('good'));
  using proxy = await ProxyFixture.start([site('a.test', bad, good)], LOOPBACK);
  for (let nth = 0; nth < FAILURES_TO_EJECT; nth++) await crash(proxy, nth === 0 ? ATTACKER : VISITOR, 2);
  assert.deepEqual(await answers(proxy, THIRD), ['good', 'good', 'good', 'good']);
});

test('a target that refuses the connections of one client is out for all', async () => {
  using good = await UpstreamFixture.serving(ok('good'));
  using proxy = await ProxyFixture.start([site('a.test', { address: await refusingAddress() }, good)], LOOPBACK);
  const refused = (): number => {
    proxy.counted();
    const reports = proxy.messages.flatMap((message) => (message.kind === 'report' ? (message.report.targets ?? []) : []));
    return reports.reduce((sum, { count }) => sum + count, 0);
  };
  for (let nth = 0; nth < 2; nth++) await answers(proxy, ATTACKER);
  assert.equal(refused(), FAILURES_TO_EJECT);
  for (let nth = 0; nth < 2; nth++) await answers(proxy, VISITOR);
  assert.equal(refused(), FAILURES_TO_EJECT);
});

test('a target over HTTP/2 that closes each connection before it has got a request is out for all clients', async (t) => {
  const server = createServer((socket) => socket.end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const dead = { address: `127.0.0.1:${(server.address() as AddressInfo).port}` };
  using good = await Http2UpstreamFixture.serving(okay('good'));
  using proxy = await ProxyFixture.start([{ ...site('a.test', dead, good), transport: { protocol: 'h2c' } }], LOOPBACK);
  for (let nth = 0; nth < 2 * FAILURES_TO_EJECT; nth++) await proxy.request(request('GET /', VISITOR));
  assert.deepEqual(
    proxy.targetChanges().map(({ healthy, forOneClient }) => [healthy, forOneClient ?? false]),
    [[false, false]],
  );
});
