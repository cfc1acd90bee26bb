import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { parseRoute } from '../../route.ts';
import { accepted, refused } from '../../values/parsed.ts';
import { blockOf, directiveContext, word } from '../testing/directive-context.ts';
import { jwtDirective } from './directive.ts';

const pem = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }) as string;
function read(...lines: string[]) {
  const { context, mistakes } = directiveContext({ textOf: ({ text }) => (text === 'k.pem' ? accepted(pem) : refused('no such file')) });
  const part: Parameters<typeof jwtDirective.read>[1] = {};
  jwtDirective.read({ name: word('jwt'), args: [], block: blockOf(...lines) }, part, context, null);
  return { jwt: part.jwt, mistakes };
}

test('reads every option, and a route accepts the result', () => {
  const { jwt, mistakes } = read(
    ...['keys k.pem', 'issuer https://i.test', 'audience a b', 'require scope x y', 'require sub', 'copy_claims sub>X-User', 'from header'],
    ...['from cookie session', 'from query access_token', 'clock_skew 5s'],
  );
  assert.deepEqual(mistakes, []);
  const route = parseRoute({ domain: 'a.example', upstream: '10.0.0.1:80', tls: false, jwt });
  assert.ok(route.ok);
  assert.deepEqual(route.value.jwt, {
    keys: [{ pem }],
    issuers: ['https://i.test'],
    audiences: ['a', 'b'],
    require: [
      { claim: 'scope', values: ['x', 'y'] },
      { claim: 'sub', values: [] },
    ],
    copy_claims: [{ claim: 'sub', to: 'X-User' }],
    from: [{ kind: 'header' }, { kind: 'cookie', name: 'session' }, { kind: 'query', name: 'access_token' }],
    clock_skew_secs: 5,
  });
});

for (const [lines, mistake] of [
  [[], 'jwt needs the keys that verify tokens: write keys <file>|<URL> [private] in its block'],
  [['keys'], 'keys is missing an argument: write keys <file>|<URL> [private]'],
  [['keys x.pem'], 'keys "x.pem": no such file'],
  [
    ['keys http://i.test/jwks.json'],
    'keys "http://i.test/jwks.json": over HTTP, anyone on the way could replace the keys: write https://, or private after the URL if it is in your own network',
  ],
  [['keys http://8.8.8.8/k private'], 'keys "http://8.8.8.8/k": private is for loopback and private addresses: write https://'],
  [['keys https://a:b@i.test/k'], 'keys "https://a:b@i.test/k": a URL of public keys needs no user name and password'],
  [['keys https://i.test/k privat'], '"privat" (did you mean "private"?)'],
  [['keys k.pem private'], '"private" is one argument too many for keys: write keys <file>|<URL> [private]'],
  [['keys k.pem', 'keys k.pem'], 'keys is already in line 1; keep one of them'],
  [['keys k.pem', 'isuer a'], 'jwt has no "isuer" (did you mean "issuer"?)'],
  [['keys k.pem', 'copy_claims sub'], 'copy_claims "sub": write a claim and the name of a header, with > between them'],
  [['keys k.pem', 'copy_claims sub>Host'], 'copy_claims "sub>Host": the proxy sets or removes this header itself'],
  [
    ['keys k.pem', 'copy_claims sub>X-User email>x-user'],
    'copy_claims "email>x-user": another value is copied to this header already; keep one of them',
  ],
  [['keys k.pem', 'from body'], '"body": write from header|cookie <name>|query <name>'],
  [
    ['keys k.pem', 'from query t'],
    'query "t": the name must contain "token" or "jwt", so that logs hide the value: write query access_token',
  ],
  [['keys k.pem', 'clock_skew 1h'], 'clock_skew "1h": whole seconds, 300s at most'],
] as const)
  test(`reports a mistake and what to write: ${mistake}`, () => {
    const { jwt, mistakes } = read(...lines);
    assert.deepEqual(mistakes, [mistake]);
    assert.ok(jwt, 'a mistake must not leave the site open');
  });

test('keys are fetched from a URL, over HTTP only from a private address', () => {
  const fetched = (keys: string) => {
    const { jwt, mistakes } = read(keys);
    assert.deepEqual(mistakes, []);
    const route = parseRoute({ domain: 'a.example', upstream: '10.0.0.1:80', tls: false, jwt });
    assert.ok(route.ok);
    assert.equal(route.value.jwt?.keys, undefined);
    return route.value.jwt?.key_source;
  };
  assert.deepEqual(fetched('keys https://i.test/jwks'), { url: 'https://i.test/jwks', private: false });
  assert.deepEqual(fetched('keys http://keycloak:8080/certs private'), { url: 'http://keycloak:8080/certs', private: true });
  assert.deepEqual(fetched('keys http://[::1]:8080/certs private'), { url: 'http://[::1]:8080/certs', private: true });
});

test('a route rejects keys and places that cannot be used', () => {
  for (const more of [
    { keys: [] },
    { keys: [{ pem: 'x' }] },
    { keys: [{ pem, alg: 'HS256' }] },
    { keys: [{ pem, alg: 'none' }] },
    {},
    { keys: [{ pem }], key_source: { url: 'https://i.test/k' } },
    { key_source: { url: 'http://i.test/k' } },
    { key_source: { url: 'https://i.test/k#x' } },
    { key_source: { url: 'file:///etc/passwd', private: true } },
    { keys: [{ pem }], from: [{ kind: 'cookie' }] },
    { keys: [{ pem }], copy_claims: ['X-A', 'x_a'].map((to) => ({ claim: 'sub', to })) },
    { keys: [{ pem }], from: [{ kind: 'query', name: 't' }] },
    { keys: [{ pem }], copy_claims: [{ claim: 'sub', to: 'Content-Length' }] },
  ])
    assert.equal(parseRoute({ domain: 'a.example', upstream: '10.0.0.1:80', tls: false, jwt: more }).ok, false, JSON.stringify(more));
});
