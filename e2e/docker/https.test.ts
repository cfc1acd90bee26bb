import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { until } from '../../shared/runtime/testing/until.ts';
import { Pebble } from '../acme/testing/pebble.ts';
import { missing } from '../components.ts';
import { Folder } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';
import { App } from './testing/app.ts';
import { Discovery } from './testing/discovery.ts';
import { Engine } from './testing/engine.ts';
import { ownNetwork } from './testing/own-network.ts';

const skip = missing('pebble') ?? ownNetwork();

describe('HTTPS for containers', { skip }, () => {
  const folder = new Folder();
  let engine: Engine;
  let pebble: Pebble;
  let discovery: Discovery;
  let httpsPort: number;
  before(async () => {
    const httpPort = await freePort();
    httpsPort = await freePort();
    engine = await Engine.start();
    pebble = await Pebble.start(folder, { httpPort, tlsPort: httpsPort });
    const authority = ['--acme-email', 'ops@example.com', '--acme-directory', pebble.directory, '--acme-ca-root', pebble.rootPath];
    const flags = ['--https-port', `${httpsPort}`, '--cert-dir', folder.file('certs'), ...authority];
    discovery = await Discovery.start(engine, { httpPort, flags });
  });
  after(async () => {
    await discovery?.[Symbol.asyncDispose]();
    await pebble?.[Symbol.asyncDispose]();
    await engine?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const shake = async (servername: string): Promise<TLSSocket> => {
    const socket = connect({ host: '127.0.0.1', port: httpsPort, servername, ca: await pebble.root() });
    await once(socket, 'secureConnect');
    return socket;
  };

  test('a name routed by a label gets a certificate without a restart', async () => {
    for (const name of ['first.example.com', 'second.example.com']) {
      await App.start(engine.docker, { app: name, labels: { 'sluice.domain': name }, light: true });
      const socket = await until(`a trusted handshake for ${name}`, () => shake(name));
      assert.equal(socket.getPeerCertificate().subjectaltname, `DNS:${name}`);
      socket.destroy();
      const { status, headers } = await discovery.visit(name);
      assert.deepEqual([status, headers.location], [308, `https://${name}:${httpsPort}/`]);
    }
  });

  test('a site with sluice.tls=off is served over plain HTTP without a redirect or certificate', async () => {
    const labels = { 'sluice.domain': 'plain.example.com', 'sluice.tls': 'off' };
    await App.start(engine.docker, { app: 'plain', labels, light: true });
    await discovery.answersWith(200, 'plain.example.com');
    await assert.rejects(shake('plain.example.com'), /unrecognized name|unrecognized_name|ECONNRESET/i);
  });
});
