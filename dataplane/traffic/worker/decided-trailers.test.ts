import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http2';
import { test } from 'node:test';
import type { RouteInput } from '../../../shared/route.ts';
import { Http2Client, Http2UpstreamFixture, okay } from '../testing/http2/upstream.ts';
import { eventually, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';

const APPROVAL = 'HTTP/1.1 200 OK\r\nRemote-User: bob\r\nContent-Length: 0\r\n\r\n';
const COPIED = [
  { from: 'Remote-User', to: 'Remote-User' },
  { from: 'Remote-Groups', to: 'Remote-Groups' },
];
const ed = generateKeyPairSync('ed25519');

function token(now: number): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'EdDSA' })}.${part({ exp: now / 1_000 + 60, sub: 'bob' })}`;
  return `${text}.${sign(null, Buffer.from(text), ed.privateKey).toString('base64url')}`;
}

/** Trailers that a client must not be able to send, and one that it may. */
const FORGED = ['remote-user', 'remote_groups', 'x-sub', 'x_key', 'x-removed', 'x_internal_role', 'x-up'];
const SENT = [...FORGED, 'x-sum'];

const deciding = (auth: UpstreamFixture, upstream: { readonly address: string }): RouteInput => ({
  ...site('a.test', upstream),
  forward_auth: { upstreams: [auth.address], uri: '/', copy_headers: COPIED },
  jwt: { keys: [{ pem: ed.publicKey.export({ type: 'spki', format: 'pem' }) }], copy_claims: [{ claim: 'sub', to: 'X-Sub' }] },
  request_headers: [
    { name: 'X-Key', value: 'k' },
    { name: 'X-Removed', value: null },
    { name: 'X-Internal-*', value: null },
    { name: 'X-Up', value: '{client_ip}', upstream_only: true },
  ],
});

test('a trailer cannot set a field that the site determines, over HTTP/1.1', async () => {
  using auth = await UpstreamFixture.serving(APPROVAL);
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.start([deciding(auth, upstream)]);
  const lines = SENT.map((name) => `${name}: eve\r\n`).join('');
  const head = `POST / HTTP/1.1\r\nHost: a.test\r\nAuthorization: Bearer ${token(proxy.clock.now())}\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const { line } = await proxy.request(`${head}2\r\nhi\r\n0\r\n${lines}\r\n`);
  assert.match(line, / 200 /);
  assert.deepEqual([upstream.requests[0]?.body, upstream.requests[0]?.trailers], ['hi', 'x-sum: eve\r\n']);
});

test('a trailer cannot set a field that the site determines, over HTTP/2', async () => {
  const received: IncomingHttpHeaders[] = [];
  using auth = await UpstreamFixture.serving(APPROVAL);
  using upstream = await Http2UpstreamFixture.serving((asked) => {
    asked.stream.on('trailers', (fields) => received.push(fields));
    asked.stream.resume();
    asked.stream.on('end', () => okay('x')(asked));
  });
  using proxy = await ProxyFixture.start([{ ...deciding(auth, upstream), transport: { protocol: 'h2c' } }]);
  using client = new Http2Client(proxy);
  // The same for a body that has arrived before the policies have decided.
  for (const length of [{}, { 'content-length': 100_000 }]) {
    const stream = client.session.request(
      { ':method': 'POST', ':authority': 'a.test', authorization: `Bearer ${token(proxy.clock.now())}`, ...length },
      { waitForTrailers: true, endStream: false },
    );
    stream.on('wantTrailers', () => stream.sendTrailers(Object.fromEntries(SENT.map((name) => [name, 'eve']))));
    stream.end('x'.repeat(100_000));
    const before = received.length;
    await eventually('the trailers', () => received.length > before);
    assert.deepEqual(Object.entries(received.at(-1) ?? {}), [['x-sum', 'eve']]);
  }
});

test('a site that decides about no fields gets all trailers', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.before(upstream);
  await proxy.request('POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nRemote-User: eve\r\nX-Sum: 1\r\n\r\n');
  assert.equal(upstream.requests[0]?.trailers, 'Remote-User: eve\r\nX-Sum: 1\r\n');
});
