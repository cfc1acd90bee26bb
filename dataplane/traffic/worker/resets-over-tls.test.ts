import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { SecureFixture } from '../testing/proxy/secure-proxy.ts';
import { eventually } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';

/** More than the sockets of both sides hold. */
const LARGE = Buffer.from(ok('x'.repeat(5_000_000)));

test('a reset during the end of the TLS handshake ends the request that came with it', async () => {
  using upstream = await UpstreamFixture.serving(() => LARGE);
  using secure = await SecureFixture.before(upstream);
  const { securePort: port, ledger } = secure.proxy;
  const leave = async (turns: number): Promise<void> => {
    const socket = connect({ host: '127.0.0.1', port }).on('error', () => undefined);
    const client = connectTls({ socket, servername: 'a.test', ca: secure.ca, ALPNProtocols: ['http/1.1'] }).on('error', () => undefined);
    await once(client, 'secureConnect');
    client.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
    for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
    socket.resetAndDestroy();
  };
  for (let round = 0; round < 10; round++) {
    await Promise.all(Array.from({ length: 20 }, (_, at) => leave(at % 5)));
    // The clock of the proxy stands still, so no time limit ends anything.
    await eventually('all connections and requests to end', () => ledger.inFlight.total() === 0 && ledger.connections.open() === 0);
  }
});
