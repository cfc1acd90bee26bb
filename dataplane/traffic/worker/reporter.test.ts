import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FromWorker, TrafficReport } from '../protocol.ts';
import { eventually, get, ProxyFixture } from '../testing/proxy/test-proxy.ts';
import { Reporter } from './reporter.ts';

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

test('the next part of a report is sent when the main thread has taken the one before', async () => {
  const sent: FromWorker[] = [];
  const part: TrafficReport = { domains: [] };
  const record = {
    *drain() {
      yield part;
      yield part;
      return part;
    },
  };
  const reporter = new Reporter({ record, faults: { drainCounts: () => null }, post: (message) => sent.push(message) });
  reporter.report(7);
  for (const parts of [1, 2, 3]) {
    await nextTurn();
    assert.equal(sent.length, parts);
    reporter.next();
  }
  assert.deepEqual(
    sent.map((message) => message.kind === 'report' && [message.id, message.more]),
    [
      [null, true],
      [null, true],
      [7, false],
    ],
  );
});

test('a report of many hosts is sent in parts of 250, and the last has the id', async () => {
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
