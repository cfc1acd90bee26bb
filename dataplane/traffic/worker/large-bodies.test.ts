import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, createServer, request as plainRequest, type Server } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { request as secureRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type Readable, Readable as Source } from 'node:stream';
import { after, before, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SecureFixture } from '../testing/proxy/secure-proxy.ts';

const WORDS = 1_500_000;
/** No two places of it are alike, so that bytes which were overwritten, lost or swapped are noticed. */
const BODY = Buffer.from(Uint32Array.from({ length: WORDS }, (_, at) => Math.imul(at, 2_654_435_761)).buffer);
const EACH = 3;

let upstream: Server;
let secure: SecureFixture;

before(async () => {
  upstream = createServer((request, response) => {
    const [, part] = /^\/part\/(\d+)$/.exec(request.url ?? '') ?? [];
    if (part !== undefined) return void response.end(partOf(Number(part)));
    if (request.url === '/length') response.setHeader('Content-Length', BODY.length);
    Source.from(pieces()).pipe(response);
  });
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const { port } = upstream.address() as AddressInfo;
  secure = await SecureFixture.before({ address: `127.0.0.1:${port}` });
});

after(() => {
  secure[Symbol.dispose]();
  upstream.closeAllConnections();
  upstream.close();
});

/** One of many bodies of different lengths, none of which is like another. */
function partOf(nth: number): Buffer {
  const at = (nth * 40_009) % (BODY.length - 300_000);
  return BODY.subarray(at, at + 50_000 + ((nth * 7_919) % 200_000));
}

/** Pieces of many sizes: smaller ones than what is copied, and larger ones than what is read at once. */
function* pieces(): Generator<Buffer> {
  const sizes = [100, 5_000, 65_536, 200_000, 16_384];
  for (let at = 0, nth = 0; at < BODY.length; nth++) {
    const size = sizes[nth % sizes.length] ?? 1;
    yield BODY.subarray(at, at + size);
    at += size;
  }
}

/** Reads at the pace of a client that now and then does something else. */
async function read(body: Readable): Promise<Buffer> {
  const got: Buffer[] = [];
  for await (const piece of body) {
    got.push(piece);
    if (got.length % 3 === 0) for (let turn = 0; turn < 20; turn++) await nextTurn();
  }
  return Buffer.concat(got);
}

function overHttp1(path: string, isSecure: boolean, agent: Agent | false = false): Promise<Buffer> {
  const { proxy, ca } = secure;
  const to = { host: '127.0.0.1', path, headers: { host: 'a.test' }, agent };
  const asked = isSecure
    ? secureRequest({ ...to, port: proxy.securePort, ca, servername: 'a.test' })
    : plainRequest({ ...to, port: proxy.port });
  return new Promise((resolve, reject) => {
    asked.on('error', reject).on('response', (response) => read(response).then(resolve, reject));
    asked.end();
  });
}

async function overHttp2(path: string, origin: string): Promise<readonly Buffer[]> {
  const session = connectHttp2(origin, { ca: secure.ca, host: '127.0.0.1' });
  try {
    const streams = Array.from({ length: EACH }, () => session.request({ ':path': path, ':authority': 'a.test' }));
    return await Promise.all(streams.map(read));
  } finally {
    session.destroy();
  }
}

for (const path of ['/length', '/chunked']) {
  for (const isSecure of [false, true]) {
    const how = `${path === '/chunked' ? 'in chunks' : 'with a length'}${isSecure ? ' over TLS' : ''}`;

    test(`large responses ${how} reach slow clients of HTTP/1.1 unchanged`, async () => {
      const got = await Promise.all(Array.from({ length: EACH }, () => overHttp1(path, isSecure)));
      for (const body of got) assert.ok(body.equals(BODY));
    });

    test(`large responses ${how} reach slow clients of HTTP/2 unchanged`, async () => {
      const origin = isSecure ? `https://a.test:${secure.proxy.securePort}` : `http://127.0.0.1:${secure.proxy.port}`;
      for (const body of await overHttp2(path, origin)) assert.ok(body.equals(BODY));
    });
  }
}

const CLIENTS = 6;
const PARTS = 25;

test('responses of some hundred KB that follow one another on keep-alive connections of HTTP/1.1 arrive unchanged', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const client = async (first: number): Promise<void> => {
    for (let nth = first; nth < first + PARTS; nth++) assert.ok((await overHttp1(`/part/${nth}`, false, agent)).equals(partOf(nth)));
  };
  try {
    await Promise.all(Array.from({ length: CLIENTS }, (_, at) => client(at * PARTS)));
  } finally {
    agent.destroy();
  }
});

test('responses of some hundred KB that follow one another on a connection of HTTP/2 arrive unchanged', async () => {
  const session = connectHttp2(`https://a.test:${secure.proxy.securePort}`, { ca: secure.ca, host: '127.0.0.1' });
  const client = async (first: number): Promise<void> => {
    for (let nth = first; nth < first + PARTS; nth++) {
      const body = await read(session.request({ ':path': `/part/${nth}`, ':authority': 'a.test' }));
      assert.ok(body.equals(partOf(nth)));
    }
  };
  try {
    await Promise.all(Array.from({ length: CLIENTS }, (_, at) => client(at * PARTS)));
  } finally {
    session.destroy();
  }
});
