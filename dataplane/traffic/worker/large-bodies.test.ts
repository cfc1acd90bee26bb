import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as plainRequest, type Server } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { request as secureRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type Readable, Readable as Source } from 'node:stream';
import { after, before, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SecureFixture } from '../testing/secure-proxy.ts';

const WORDS = 1_500_000;
/** No two places of it are alike, so that bytes which were overwritten, lost or swapped are noticed. */
const BODY = Buffer.from(Uint32Array.from({ length: WORDS }, (_, at) => Math.imul(at, 2_654_435_761)).buffer);
const EACH = 3;

let upstream: Server;
let secure: SecureFixture;

before(async () => {
  upstream = createServer((request, response) => {
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

function overHttp1(path: string, isSecure: boolean): Promise<Buffer> {
  const { proxy, ca } = secure;
  const to = { host: '127.0.0.1', path, headers: { host: 'a.test' }, agent: false };
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
