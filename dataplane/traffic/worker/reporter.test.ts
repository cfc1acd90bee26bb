import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, get, ProxyFixture } from '../testing/test-proxy.ts';

const HOSTS = 601;

async function busyProxy(): Promise<ProxyFixture> {
  const proxy = await ProxyFixture.start([{ domain: '*.test', upstream: null, tls: false, respond: { status: 200, body: '' } }]);
  const client = await proxy.connect();
  for (let at = 0; at < HOSTS; at++) {
    client.send(get().replace('a.test', `h${at}.test`));
    await client.readAnswer();
  }
  client.socket.destroy();
  return proxy;
}

const reports = (proxy: ProxyFixture) => proxy.messages.flatMap((message) => (message.kind === 'report' ? [message] : []));

test('a report of many hosts is sent in parts of 250, each in its own turn, and the last has the id', async () => {
  using proxy = await busyProxy();
  proxy.collect(7);
  assert.deepEqual(
    reports(proxy).map(({ id, report }) => [id, report.domains.length]),
    [[null, 250]],
  );
  // What is requested meanwhile is answered after it, with what came since.
  proxy.collect(8);
  await eventually('both reports', () => reports(proxy).length === 4);
  assert.deepEqual(
    reports(proxy).map(({ id, report }) => [id, report.domains.length]),
    [
      [null, 250],
      [null, 250],
      [7, 101],
      [8, 0],
    ],
  );
  const hosts = new Set(reports(proxy).flatMap(({ report }) => report.domains.map(({ host }) => host)));
  assert.equal(hosts.size, HOSTS);
});

test('a worker that ends sends all parts before it says that it has drained', async () => {
  using proxy = await busyProxy();
  proxy.collect(7);
  proxy.drain();
  await eventually('the end', () => proxy.messages.at(-1)?.kind === 'drained');
  const hosts = reports(proxy).flatMap(({ report }) => report.domains.map(({ host }) => host));
  assert.equal(new Set(hosts).size, HOSTS);
  assert.equal(hosts.length, HOSTS);
});
