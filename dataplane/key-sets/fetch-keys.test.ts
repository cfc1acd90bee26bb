import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { fetchKeys } from './fetch-keys.ts';

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const SET = JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'a', alg: 'EdDSA' }] });

async function serving(listener: RequestListener) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/keys`,
    port,
    [Symbol.dispose]: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

test('a set is fetched with its lifetime, uncompressed and without credentials', async () => {
  let head = {};
  using server = await serving((request, response) => {
    head = request.headers;
    response.writeHead(200, { 'cache-control': 'public, max-age=900, must-revalidate' }).end(SET);
  });
  const fetched = await fetchKeys({ url: server.url, private: true });
  assert.deepEqual([fetched.maxAgeSecs, fetched.keys.map(({ kid, alg }) => [kid, alg])], [900, [['a', 'EdDSA']]]);
  assert.deepEqual(Object.keys(head).sort(), ['accept', 'accept-encoding', 'connection', 'host']);
  assert.equal((await fetchKeys({ url: `http://localhost:${server.port}/`, private: true })).keys.length, 1, 'a name of a private address');
});

test('a lifetime is read from Cache-Control alone', async () => {
  for (const [value, seconds] of [
    ['max-age="60"', 60],
    ['no-store', 0],
    ['no-cache, max-age=60', 0],
    ['x-max-age=60', null],
    ['max-age=x', null],
  ] as const) {
    using server = await serving((_, response) => response.writeHead(200, { 'cache-control': value }).end(SET));
    assert.equal((await fetchKeys({ url: server.url, private: true })).maxAgeSecs, seconds, value);
  }
});

for (const [name, reason, listener] of [
  ['a redirect', /redirect \(302\), which is not followed/, (_, response) => response.writeHead(302, { location: '/other' }).end()],
  ['an error', /the response is 500/, (_, response) => response.writeHead(500).end(SET)],
  ['a partial response', /the response is 206/, (_, response) => response.writeHead(206).end(SET)],
  ['a compressed response', /compressed/, (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(SET)],
  [
    'an endless response',
    /more than 262144 bytes/,
    (_, response) => {
      response.on('error', () => undefined);
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    },
  ],
  [
    'a response that breaks off',
    /aborted|socket hang up|ECONNRESET/,
    (_, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write(SET, () => response.destroy());
    },
  ],
  ['a page', /no set of keys/, (_, response) => response.end('<!doctype html>')],
  ['an empty set', /no key that can verify/, (_, response) => response.end('{"keys":[]}')],
  ['a private key', /private key/, (_, response) => response.end(JSON.stringify({ keys: [privateKey.export({ format: 'jwk' })] }))],
] as const satisfies readonly (readonly [string, RegExp, RequestListener])[])
  test(`${name} is refused`, async () => {
    using server = await serving(listener);
    await assert.rejects(fetchKeys({ url: server.url, private: true }), ({ message }: Error) => reason.test(message));
  });

test('nothing is sent without TLS to an address that is not private, nor to any address unless that was requested', async () => {
  let requests = 0;
  using server = await serving(() => requests++);
  await assert.rejects(fetchKeys({ url: server.url, private: false }), /only fetched from loopback and private addresses/);
  await assert.rejects(fetchKeys({ url: 'http://192.0.2.1/', private: true }), /only fetched from loopback and private addresses/);
  assert.equal(requests, 0);
});

test('a server without a valid certificate is refused, and a fetch can be aborted', async () => {
  using server = await serving(() => undefined);
  await assert.rejects(fetchKeys({ url: server.url.replace('http', 'https'), private: true }), /EPROTO|wrong version|packet length/i);
  const controller = new AbortController();
  const fetching = fetchKeys({ url: server.url, private: true }, controller.signal);
  controller.abort();
  await assert.rejects(fetching, /abort/);
});
