import assert from 'node:assert/strict';
import { once } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import net, { type AddressInfo, BoundSocket, type BoundSocketOptions, createServer, Server } from 'node:net';
import { test } from 'node:test';
import { probePort } from './probe-port.ts';

const HOST = '127.0.0.1';
const reusePort = process.platform === 'linux';

test('a port that others listen on is free only for those who share it', async () => {
  for (const shared of [false, true]) {
    await using server = createServer().listen({ host: HOST, port: 0, reusePort: shared && reusePort });
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    for (const host of [HOST, null]) await assert.rejects(probePort(host, port), { code: 'EADDRINUSE' });
    if (shared && reusePort) await probePort(HOST, port, true);
    else await assert.rejects(probePort(HOST, port, true), { code: 'EADDRINUSE' });
  }
});

test('a port that is checked takes no connections from those who listen on it', async (context) => {
  await using server = createServer().listen({ host: HOST, port: 0, reusePort });
  await once(server, 'listening');
  const listen = context.mock.method(Server.prototype, 'listen');
  await probePort(HOST, (server.address() as AddressInfo).port, true);
  assert.equal(listen.mock.callCount(), 0);
});

test('an address that this machine does not have is reported', async () => {
  await assert.rejects(probePort('192.0.2.1', 0), { code: 'EADDRNOTAVAIL' });
});

test('on a machine without IPv6, every address is every IPv4 address', async (context) => {
  const Real = BoundSocket;
  class WithoutIpv6 extends Real {
    constructor(options: BoundSocketOptions = {}) {
      if (options.host === '::') throw Object.assign(new Error('no IPv6'), { code: 'EAFNOSUPPORT' });
      super(options);
    }
  }
  net.BoundSocket = WithoutIpv6;
  syncBuiltinESMExports();
  context.after(() => {
    net.BoundSocket = Real;
    syncBuiltinESMExports();
  });
  await using server = createServer().listen({ host: HOST, port: 0 });
  await once(server, 'listening');
  await probePort(null, 0);
  await assert.rejects(probePort(null, (server.address() as AddressInfo).port), { code: 'EADDRINUSE' });
  await assert.rejects(probePort('::', 0), { code: 'EAFNOSUPPORT' });
});
