import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import type { RouteInput } from '../../../shared/route.ts';
import type { Cidr } from '../../../shared/values/cidr.ts';
import { get, ProxyFixture } from '../testing/proxy/test-proxy.ts';

/** A site that says at which address a request has arrived. */
const TELLER: RouteInput = {
  domain: 'a.test',
  upstream: null,
  tls: false,
  handles: ['127.0.0.1', '127.0.0.2'].map((address) => ({
    path: null,
    match: { local_ip: [address] },
    respond: { status: 200, body: `at ${address}` },
  })),
  respond: { status: 200, body: 'elsewhere' },
};

async function askedAt(address: string, port: number, before = ''): Promise<string> {
  const socket = connect(port, address);
  await once(socket, 'connect');
  socket.write(before + get('/', 'Connection: close\r\n'));
  return (await text(socket)).split('\r\n\r\n')[1] ?? '';
}

for (const bind of ['0.0.0.0', '::'])
  test(`at ${bind}, a block can depend on the address that a connection arrived at`, async () => {
    using proxy = await ProxyFixture.with([TELLER], { bind });
    assert.equal(await askedAt('127.0.0.1', proxy.port), 'at 127.0.0.1');
    assert.equal(await askedAt('127.0.0.2', proxy.port), 'at 127.0.0.2');
    assert.equal(await askedAt('127.0.0.3', proxy.port), 'elsewhere');
  });

test('the address that a PROXY header names as the destination changes nothing', async () => {
  using proxy = await ProxyFixture.with([TELLER], { proxyProtocol: true, trustedProxies: ['127.0.0.0/8' as Cidr] });
  assert.equal(await askedAt('127.0.0.1', proxy.port, 'PROXY TCP4 203.0.113.9 127.0.0.2 56324 80\r\n'), 'at 127.0.0.1');
});

test('explain assumes that a request arrives at the address of the first block that asks for one', async () => {
  using proxy = await ProxyFixture.with([TELLER], {});
  assert.equal(proxy.dryRun('http://a.test/').block?.index, 0);
});
