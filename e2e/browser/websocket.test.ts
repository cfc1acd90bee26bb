import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CertificatesFixture } from '../../dataplane/traffic/testing/certificates.ts';
import { addressOf, chatApp } from '../testing/chat-app.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';
import { Browser, missingBrowser, pageProtocol } from './browser.ts';

test('a browser opens WebSockets on the HTTP/2 connection of its page', {
  skip: missingBrowser(),
}, async () => {
  using folder = new Folder();
  const authority = new CertificatesFixture();
  const server = await chatApp();
  const keys: string[] = [];
  server.on('upgrade', ({ headers }) => keys.push(headers['sec-websocket-key'] ?? ''));
  const httpsPort = await freePort();
  const flags = ['--cert-dir', folder.file('certs'), '--https-port', `${httpsPort}`];
  await using dataplane = await Dataplane.start({ stateDir: folder.file('state'), flags });
  await dataplane.route('chat.example.com', addressOf(server));
  const { cert, key } = authority.issue('chat.example.com');
  const body = { domains: ['chat.example.com'], certificate: cert, private_key: key };
  assert.equal((await dataplane.admin('POST', '/certificates', body)).status, 201);
  await using browser = await Browser.start(folder, [authority.ca]);
  const { page } = browser;
  await page.goto(`https://chat.example.com:${httpsPort}/`);
  assert.equal(await pageProtocol(page), 'h2');
  const echo = await page.evaluate<string>(`new Promise((resolve, reject) => {
    const socket = new WebSocket(location.origin.replace('http', 'ws') + '/chat');
    socket.onopen = () => socket.send('hello');
    socket.onmessage = ({ data }) => resolve(data);
    socket.onerror = () => reject(new Error('it did not open'));
  })`);
  assert.equal(echo, 'hello');
  // A browser's key is 16 random bytes; a key made by the proxy is text.
  assert.match(Buffer.from(keys[0] ?? '', 'base64').toString('latin1'), /^[\x21-\x7e]{16}$/);
  server.close();
  server.closeAllConnections();
});
