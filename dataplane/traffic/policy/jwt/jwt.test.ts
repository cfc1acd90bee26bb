import assert from 'node:assert/strict';
import { constants, createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { test } from 'node:test';
import type { RouteInput } from '../../../../shared/route.ts';
import { get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field } from '../../testing/wire.ts';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ec384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
const ec521 = generateKeyPairSync('ec', { namedCurve: 'P-521' });
const ed = generateKeyPairSync('ed25519');
const pemOf = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }) as string;
const KEYS = [
  { pem: pemOf(rsa.publicKey), kid: 'rsa' },
  { pem: pemOf(ec.publicKey), kid: 'ec' },
  { pem: pemOf(ec384.publicKey), kid: 'ec384' },
  { pem: pemOf(ec521.publicKey), kid: 'ec521' },
  { pem: pemOf(ed.publicKey), kid: 'ed' },
];

const part = (value: object | string): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const signatureOf = (alg: string, text: string, key: KeyObject): string => {
  const digest = `sha${alg.slice(2)}`;
  const padding = alg.startsWith('PS') ? constants.RSA_PKCS1_PSS_PADDING : constants.RSA_PKCS1_PADDING;
  const bytes =
    key.asymmetricKeyType === 'ed25519'
      ? sign(null, Buffer.from(text), key)
      : key.asymmetricKeyType === 'ec'
        ? sign(digest, Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' })
        : sign(digest, Buffer.from(text), { key, padding, saltLength: constants.RSA_PSS_SALTLEN_DIGEST });
  return bytes.toString('base64url');
};
function tokenOf(payload: object | string, { alg = 'ES256', key = ec.privateKey, header = { alg } as object | string } = {}): string {
  const text = `${part(header)}.${part(payload)}`;
  return `${text}.${signatureOf(alg, text, key)}`;
}
const asking = (token: string, path = '/', ...fields: string[]): string =>
  get(path).replace('\r\n\r\n', `\r\nAuthorization: Bearer ${token}\r\n${fields.map((line) => `${line}\r\n`).join('')}\r\n`);
const guarded = (upstream: { readonly address: string }, more: object = {}): RouteInput => ({
  ...site('a.test', upstream),
  jwt: { keys: KEYS, ...more },
});
const statusOf = ({ line }: { line: string }): number => Number(line.split(' ')[1]);

test('accepts tokens of every algorithm that fits a key, and copies claims in place of forged fields', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.start([
    guarded(upstream, {
      copy_claims: [
        { claim: 'sub', to: 'X-User' },
        { claim: 'groups', to: 'X-Groups' },
        { claim: 'none', to: 'X-None' },
      ],
    }),
  ]);
  const exp = proxy.clock.now() / 1_000 + 100;
  for (const [alg, key] of [
    ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'].map((one) => [one, rsa.privateKey] as const),
    ...([
      ['ES256', ec.privateKey],
      ['ES384', ec384.privateKey],
      ['ES512', ec521.privateKey],
      ['EdDSA', ed.privateKey],
    ] as const),
  ]) {
    const token = tokenOf({ exp, sub: 'bob', groups: ['dev', 'ops'] }, { alg, key });
    const forged = ['X-User: admin', 'x_user: admin', 'x.user: admin', 'X-NONE: admin', 'X-Groups: admin'];
    assert.equal(statusOf(await proxy.request(asking(token, '/', ...forged))), 200, alg);
    const head = upstream.requests.at(-1)?.head ?? '';
    assert.equal(field(head, 'X-User'), 'bob');
    assert.equal(field(head, 'X-Groups'), 'dev,ops');
    assert.doesNotMatch(head, /admin/);
  }
});

test('a token that differs from what a key has signed is answered with 401 and a challenge', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.start([guarded(upstream, { copy_claims: [{ claim: 'sub', to: 'X-User' }] })]);
  const exp = proxy.clock.now() / 1_000 + 100;
  const good = tokenOf({ exp });
  const [head = '', payload = '', signature = ''] = good.split('.');
  const confused = `${part({ alg: 'HS256' })}.${payload}`;
  for (const [name, token] of Object.entries({
    'alg none': `${part({ alg: 'none' })}.${payload}.`,
    'alg none with a signature': `${part({ alg: 'none' })}.${payload}.${signature}`,
    'HMAC with the public key': `${confused}.${createHmac('sha256', pemOf(ec.publicKey)).update(confused).digest('base64url')}`,
    'an algorithm of another key type': tokenOf({ exp }, { header: { alg: 'RS256', kid: 'ec' } }),
    'another kid': tokenOf({ exp }, { header: { alg: 'ES256', kid: '../../etc/passwd' } }),
    'a kid that is inherited': tokenOf({ exp }, { header: '{"alg":"ES256","kid":"__proto__"}' }),
    'a kid that is no text': tokenOf({ exp }, { header: { alg: 'ES256', kid: ['ec'] } }),
    'a key of its own': tokenOf({ exp }, { alg: 'ES256', key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey }),
    'an extension': tokenOf({ exp }, { header: { alg: 'ES256', crit: ['b64'], b64: false } }),
    'another payload': `${head}.${part({ exp, sub: 'admin' })}.${signature}`,
    'a padded part': `${good}=`,
    'base64 instead of base64url': good.replace(/[-_]/g, '+').replace(/.$/, '/'),
    'two signatures': `${good}.${signature}`,
    'a DER signature': `${head}.${payload}.${sign('sha256', Buffer.from(`${head}.${payload}`), ec.privateKey).toString('base64url')}`,
    'no signature': `${head}.${payload}.`,
    'a duplicate member of the header': tokenOf({ exp }, { header: '{"alg":"none","\\u0061lg":"ES256"}' }),
    'a duplicate claim': tokenOf(`{"exp":1,"exp":${exp}}`),
    'deep JSON': tokenOf(`{"exp":${exp},"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}`),
    'claims that are no object': tokenOf('[]'),
    'bytes that are no UTF-8': `${head}.${Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url')}.${signature}`,
    'no exp': tokenOf({}),
    'exp as text': tokenOf({ exp: String(exp) }),
    'a huge token': 'a'.repeat(8_193),
    'a claim with CR and LF': tokenOf({ exp, sub: 'a\r\nX-Admin: 1' }),
    'a claim with NUL': tokenOf({ exp, sub: 'a\0' }),
    'a claim beyond ASCII': tokenOf({ exp, sub: 'Zoë' }),
    'a claim that is an object': tokenOf({ exp, sub: {} }),
    'a list whose element has a comma': tokenOf({ exp, sub: ['a,b'] }),
  })) {
    const answer = await proxy.request(asking(token));
    assert.equal(statusOf(answer), 401, name);
    assert.equal(field(answer.head, 'WWW-Authenticate'), 'Bearer realm="a.test", error="invalid_token"', name);
  }
  const none = await proxy.request(get('/'));
  assert.equal(field(none.head, 'WWW-Authenticate'), 'Bearer realm="a.test"');
  assert.equal(upstream.requests.length, 0);
});

test('exp, nbf, iss and aud are checked, also for a token that was accepted before', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.start([guarded(upstream, { issuers: ['i'], audiences: ['a', 'b'], clock_skew_secs: 5 })]);
  const now = proxy.clock.now() / 1_000;
  const claims = { iss: 'i', aud: ['x', 'b'], exp: now + 10, nbf: now + 4 };
  const status = async (payload: object) => statusOf(await proxy.request(asking(tokenOf(payload))));
  const token = tokenOf(claims);
  assert.equal(statusOf(await proxy.request(asking(token))), 200);
  assert.equal(await status({ ...claims, nbf: now + 60 }), 401);
  assert.equal(await status({ ...claims, iss: 'j' }), 401);
  assert.equal(await status({ ...claims, iss: ['i'] }), 401);
  assert.equal(await status({ ...claims, aud: 'x' }), 401);
  assert.equal(await status({ ...claims, aud: 'a' }), 200);
  assert.equal(await status({ exp: claims.exp }), 401);
  proxy.clock.pass(14_000);
  assert.equal(statusOf(await proxy.request(asking(token))), 200, 'within the clock skew');
  proxy.clock.pass(2_000);
  assert.equal(statusOf(await proxy.request(asking(token))), 401);
});

test('a valid token without a required claim is answered with 403', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.start([
    guarded(upstream, {
      require: [
        { claim: 'scope', values: ['read'] },
        { claim: 'sub', values: [] },
      ],
    }),
  ]);
  const exp = proxy.clock.now() / 1_000 + 100;
  for (const [claims, status] of [
    [{ scope: 'write read', sub: 'a' }, 200],
    [{ scope: 'reader', sub: 'a' }, 403],
    [{ scope: 'read' }, 403],
  ] as const)
    assert.equal(statusOf(await proxy.request(asking(tokenOf({ exp, ...claims })))), status);
});

test('claims in objects are found by their path, and a claim whose name has dots comes first', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.start([
    guarded(upstream, {
      require: [{ claim: 'realm_access.roles', values: ['ops'] }],
      copy_claims: [
        { claim: 'realm_access.roles', to: 'X-Roles' },
        { claim: 'https://a.example/team', to: 'X-Team' },
        { claim: 'address.city.name', to: 'X-City' },
        { claim: 'roles.0', to: 'X-First' },
        { claim: '__proto__.x', to: 'X-Proto' },
      ],
    }),
  ]);
  const exp = proxy.clock.now() / 1_000 + 100;
  const claims = { exp, roles: ['a'], 'https://a.example/team': 'blue', address: { city: { name: 'Bonn' } } };
  for (const [more, roles] of [
    [{ realm_access: { roles: ['dev', 'ops'] } }, 'dev,ops'],
    [{ realm_access: { roles: ['dev'] }, 'realm_access.roles': 'ops' }, 'ops'],
  ] as const) {
    assert.equal(statusOf(await proxy.request(asking(tokenOf({ ...claims, ...more })))), 200);
    const head = upstream.requests.at(-1)?.head ?? '';
    assert.deepEqual(
      ['X-Roles', 'X-Team', 'X-City', 'X-First', 'X-Proto'].map((name) => field(head, name)),
      [roles, 'blue', 'Bonn', null, null],
    );
  }
  for (const [more, status] of [
    [{}, 403],
    [{ realm_access: ['ops'] }, 403],
    [{ realm_access: null }, 403],
    [{ realm_access: 'ops' }, 403],
    // An object can't be copied.
    [{ realm_access: { roles: { ops: 1 } } }, 401],
  ] as const)
    assert.equal(statusOf(await proxy.request(asking(tokenOf({ ...claims, ...more })))), status, JSON.stringify(more));
});

test('a client that sends many wrong signatures is limited, and tokens that claims already exclude cost none', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.start([guarded(upstream, { issuers: ['i'] })], ['127.0.0.1/32']);
  const exp = proxy.clock.now() / 1_000 + 100;
  const [head = '', payload = ''] = tokenOf({ exp, iss: 'i' }).split('.');
  const forged = `${head}.${payload}.${'A'.repeat(86)}`;
  const from = (address: string, token: string) => proxy.request(asking(token, '/', `X-Forwarded-For: ${address}`));
  for (const claims of [{ exp }, { exp, iss: 'j' }, { exp: 1, iss: 'i' }])
    for (let nth = 0; nth < 25; nth++)
      assert.equal(
        statusOf(
          await from('192.0.2.1', tokenOf(claims, { alg: 'ES256', key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey })),
        ),
        401,
      );
  const statuses = new Map<number, number>();
  for (let nth = 0; nth < 30; nth++) {
    const status = statusOf(await from('192.0.2.1', forged));
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  assert.deepEqual(
    [...statuses],
    [
      [401, 20],
      [429, 10],
    ],
  );
  assert.equal(statusOf(await from('192.0.2.2', tokenOf({ exp, iss: 'i' }))), 200, 'another client');
  proxy.clock.pass(2_000);
  assert.equal(statusOf(await from('192.0.2.1', tokenOf({ exp, iss: 'i' }))), 200);
});

test('a token may be in a cookie or a query parameter, and a request with two is refused', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.start([
    guarded(upstream, {
      from: [{ kind: 'header' }, { kind: 'cookie', name: 's' }, { kind: 'query', name: 'access_token' }],
    }),
  ]);
  const token = tokenOf({ exp: proxy.clock.now() / 1_000 + 100 });
  const withCookie = get('/').replace('\r\n\r\n', `\r\nCookie: a=1; s=${token}\r\n\r\n`);
  assert.equal(statusOf(await proxy.request(withCookie)), 200);
  assert.equal(statusOf(await proxy.request(get(`/?access_token=${token}`))), 200);
  for (const request of [
    asking(token, `/?access_token=${token}`),
    asking(token, `/?%61ccess_token=${token}`),
    asking(token, '/', `Authorization: Bearer ${token}`),
    // An upstream may use the other one.
    asking(token, '/', 'Authorization: Basic Ym9iOng='),
    asking(token, '/', `Cookie: s=${token}; s=x`),
    // Most servers trim the name of a cookie, and would take the other one.
    withCookie.replace('a=1', 's =x'),
    withCookie.replace('a=1', '\t s\t=x'),
  ])
    assert.equal(statusOf(await proxy.request(request)), 400);
});

test('keys without a kid verify tokens whose kid no other key has', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.start([
    {
      ...site('a.test', upstream),
      jwt: { keys: [{ pem: pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey) }, { pem: pemOf(ec.publicKey) }] },
    },
  ]);
  const token = tokenOf({ exp: proxy.clock.now() / 1_000 + 100 }, { header: { alg: 'ES256', kid: 'any' } });
  assert.equal(statusOf(await proxy.request(asking(token))), 200);
});
