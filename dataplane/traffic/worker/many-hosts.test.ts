import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, ProxyFixture } from '../testing/proxy/test-proxy.ts';

const BURST = 100;
const fixed = (domain: string) => ({ domain, upstream: null, tls: false, respond: { status: 200, body: '' } });

/** Requests for hosts that the client invents, `count` of them below each domain. */
async function flood(proxy: ProxyFixture, count: number, ...domains: readonly string[]): Promise<void> {
  const wire = await proxy.connect();
  for (const domain of domains)
    for (let from = 0; from < count; from += BURST) {
      const hosts = Array.from({ length: BURST }, (_, at) => `h${from + at}.${domain}`);
      wire.send(hosts.map((host) => `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`).join(''));
      for (const _ of hosts) await wire.readAnswer('GET');
    }
}

/** The requests of the next report, by host. */
async function reported(proxy: ProxyFixture): Promise<Map<string, number>> {
  proxy.messages.length = 0;
  proxy.collect(0);
  await eventually('the last part', () => proxy.messages.some((message) => message.kind === 'report' && !message.more));
  const domains = proxy.messages.flatMap((message) => (message.kind === 'report' ? message.report.domains : []));
  return new Map(domains.map(({ host, requests }) => [host, requests]));
}

test('of the hosts that a client invents below a wildcard, 1,000 of a report have counts of their own; the others count for the wildcard', async () => {
  using proxy = await ProxyFixture.start([fixed('*.w.test'), fixed('a.test')]);
  await flood(proxy, 1_500, 'w.test');
  await proxy.request('GET / HTTP/1.1\r\nHost: h0.w.test\r\n\r\n');
  await proxy.request('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
  const counts = await reported(proxy);
  assert.deepEqual([counts.size, counts.get('*.w.test'), counts.get('h0.w.test'), counts.get('a.test')], [1_002, 500, 2, 1]);
  await flood(proxy, 100, 'w.test');
  assert.deepEqual([...(await reported(proxy)).values()], Array(100).fill(1));
});

test('below all wildcards together, 4,000 hosts of a report have counts of their own', async () => {
  const domains = Array.from({ length: 6 }, (_, at) => `w${at}.test`);
  using proxy = await ProxyFixture.start(domains.map((domain) => fixed(`*.${domain}`)));
  await flood(proxy, 900, ...domains);
  const counts = await reported(proxy);
  assert.deepEqual([counts.size, counts.get('*.w4.test'), counts.get('*.w5.test')], [4_002, 500, 900]);
});
