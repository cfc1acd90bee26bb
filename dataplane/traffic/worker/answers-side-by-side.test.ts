import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ProxyFixture } from '../testing/proxy/test-proxy.ts';

/** More than the sockets on this machine buffer between two ends. */
const LARGE = 16_000_000;
const PIECE = 12_000;
const KINDS = ['length', 'chunked', 'until-end'];

/** The body for a path. No two bodies have a piece in common. */
function bodyOf(path: string): Buffer {
  return Buffer.alloc(Number(path.slice(path.lastIndexOf('/') + 1)), `${path} `);
}

/** Answers `/whole/…` in one write including the head, and everything else in small pieces, one per turn. */
async function upstream(): Promise<Server> {
  const server = createServer(async ({ url = '' }, response) => {
    const body = bodyOf(url);
    if (url.startsWith('/whole') || url.startsWith('/length')) response.setHeader('Content-Length', body.length);
    if (url.startsWith('/until-end')) response.useChunkedEncodingByDefault = false;
    if (url.startsWith('/whole')) return response.end(body);
    for (let at = 0; at < body.length; at += PIECE) {
      if (!response.write(body.subarray(at, at + PIECE))) await once(response, 'drain');
      else await nextTurn();
    }
    return response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

const before = (server: Server): Promise<ProxyFixture> =>
  ProxyFixture.start([{ domain: 'site.test', upstream: `127.0.0.1:${(server.address() as AddressInfo).port}`, tls: false }]);

function sendRequest(port: number, path: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get({ port, host: '127.0.0.1', path, headers: { host: 'site.test' }, agent: false }, resolve).once('error', reject);
  });
}

async function read(answer: IncomingMessage, path: string): Promise<void> {
  const pieces: Buffer[] = [];
  for await (const piece of answer) pieces.push(piece as Buffer);
  assert.ok(Buffer.concat(pieces).equals(bodyOf(path)), `the answer to ${path} is not its own`);
}

test('concurrent large responses of any framing are not mixed up, for fast and slow readers', async () => {
  const server = await upstream();
  using proxy = await before(server);
  const paths = (who: string) => KINDS.map((kind) => `/${kind}/${who}/${LARGE}`);
  const waiting = await Promise.all(paths('waits').map(async (path) => ({ path, answer: await sendRequest(proxy.port, path) })));
  await Promise.all(paths('reads').map(async (path) => read(await sendRequest(proxy.port, path), path)));
  await Promise.all(waiting.map(({ path, answer }) => read(answer, path)));
  server.closeAllConnections();
  server.close();
});

test('a client that pipelines requests and reads late receives its own responses, not those that others are sent meanwhile', async () => {
  const server = await upstream();
  using proxy = await before(server);
  const paths = Array.from({ length: 400 }, (_, index) => `/whole/${index}/${20_000 + ((index * 7_919) % 40_000)}`);
  const socket = connect(proxy.port, '127.0.0.1').pause();
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: site.test\r\n\r\n`).join(''));
  // The proxy stops serving the late reader's requests once no more of its responses can be sent.
  let asked = 0;
  server.on('request', ({ url = '' }) => {
    if (!url.includes('other')) asked++;
  });
  for (let still = 0, before = -1, index = 0; still < 20; still = asked === before ? still + 1 : 0, before = asked, index++) {
    const path = `/whole/other-${index}/50000`;
    await read(await sendRequest(proxy.port, path), path);
  }
  assert.ok(asked < paths.length, 'the late reader was sent everything');
  const pieces: Buffer[] = [];
  const expected = paths.map(bodyOf);
  let missing = expected.reduce((sum, body) => sum + body.length, 0);
  for await (const piece of socket) {
    pieces.push(piece as Buffer);
    missing -= (piece as Buffer).length;
    if (missing <= 0 && (piece as Buffer).subarray(-20).equals((expected.at(-1) as Buffer).subarray(-20))) break;
  }
  let rest = Buffer.concat(pieces);
  for (const [index, body] of expected.entries()) {
    const start = rest.indexOf('\r\n\r\n') + 4;
    assert.ok(rest.subarray(start, start + body.length).equals(body), `the answer to ${paths[index]} is not its own`);
    rest = rest.subarray(start + body.length);
  }
  assert.equal(rest.length, 0);
  server.closeAllConnections();
  server.close();
});
