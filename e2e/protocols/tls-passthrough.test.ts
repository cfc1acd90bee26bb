import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { connect, createServer } from 'node:tls';
import { makePair } from '../../shared/certificates/testing/pairs.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';
import { freePort } from '../testing/ports.ts';

/** The answer of the TLS server that is reached with this name, or why there is none. */
function heard(port: number, servername: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.setEncoding('utf8').once('data', (text: string) => {
      socket.destroy();
      resolve(text);
    });
  });
}

test('a site of the file passes TLS connections through to its targets, and the HTTPS port opens for that', async () => {
  const pair = await makePair(['db.test']);
  const server = createServer({ cert: pair.certificate, key: pair.privateKey }, (socket) => {
    socket.on('error', () => undefined);
    socket.end('from the target');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  after(() => server.close());
  const { port: target } = server.address() as { port: number };
  using folder = new Folder();
  const httpsPort = await freePort();
  const flags = ['--https-port', `${httpsPort}`];
  const sites = `db.test {\n  tls_passthrough 127.0.0.1:${target}\n}\nweb.test {\n  respond "web"\n}\n`;
  {
    await using running = await Pair.start(folder, 'web.test {\n  respond "web"\n}\n', { flags });
    assert.equal(await heard(httpsPort, 'db.test'), 'ECONNREFUSED');
    running.write(sites);
    await until('connections to be passed through', async () => (await heard(httpsPort, 'db.test')) === 'from the target');
    assert.match(await heard(httpsPort, 'web.test'), /UNRECOGNIZED_NAME/);
    assert.equal((await running.visit('db.test')).status, 404);
    assert.equal((await running.visit('web.test')).text, 'web');
    const explained = await running.command('explain', 'https://db.test/');
    assert.match(explained.stdout, /the TLS connection is passed through to 127\.0\.0\.1:/);
    const metrics = (await running.admin('/metrics')).text;
    assert.match(metrics, /^sluice_passed_connections_total\{domain="db\.test",result="passed"\} 1$/m);
    assert.match(metrics, /^sluice_passed_bytes_total\{domain="db\.test",direction="out"\} \d+$/m);
    assert.doesNotMatch((await running.admin('/analytics')).text, /db\.test/);
    assert.match((await running.admin('/upstreams')).text, new RegExp(`127\\.0\\.0\\.1:${target}`));
  }
  await using again = await Pair.start(folder, sites, { flags });
  assert.equal(await heard(httpsPort, 'db.test'), 'from the target');
  assert.equal((await again.visit('web.test')).text, 'web');
});
