import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';
import { REPOSITORY } from '../testing/process.ts';
import { Upstream } from '../testing/upstream.ts';

/** What a visitor gets: a status with its body or location, or which service received which path. */
type Seen = readonly [status: number, what: string];
type Visit = readonly [host: string, path: string, seen: Seen];

const visits: Readonly<Record<string, readonly Visit[]>> = {
  'docs/from-caddy.md': [
    ['shop.example', '/api/users', [200, '4000 /users']],
    ['www.shop.example', '/page?q=1', [200, '3000 /page?q=1']],
    ['shop.example', '/admin/x', [401, '']],
    ['shop.example', '/old/x', [301, '/new']],
  ],
  'docs/from-nginx.md': [
    ['shop.example', '/page', [200, '3000 /page']],
    ['www.shop.example', '/api/users', [200, '4000 /users']],
    ['shop.example', '/health', [200, 'ok']],
    ['shop.example', '/old/a/b', [301, '/new/a/b']],
    ['other.example', '/', [404, '']],
  ],
  'docs/from-traefik.md': [
    ['shop.example', '/api/users', [200, '4000 /users']],
    ['shop.example', '/page', [200, '3000 /page']],
    ['www.shop.example', '/api/users', [200, '3000 /api/users']],
    ['other.example', '/', [404, '']],
  ],
};

const { publicKey, privateKey } = generateKeyPairSync('ed25519');

function tokenOf(claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'EdDSA', kid: '1' })}.${part(claims)}`;
  return `${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`;
}

describe('the guides for users of other proxies', () => {
  const folder = new Folder();
  let pair: Pair;
  before(async () => {
    pair = await Pair.start(folder, '');
  });
  after(async () => {
    await pair?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  for (const [name, expected] of Object.entries(visits))
    test(`the example for ${name} does what the page says`, async () => {
      // The services in the examples differ by port; each is one service here.
      await using site = await Upstream.start('3000', (request, response) => response.end(`3000 ${request.url}`));
      await using api = await Upstream.start('4000', (request, response) => response.end(`4000 ${request.url}`));
      const block = /```sluicefile\n(?:\{\n[\s\S]*?\n\}\n\n)?([\s\S]*?)```/.exec(readFileSync(join(REPOSITORY, name), 'utf8'))?.[1] ?? '';
      const sites = block.replace(/10\.0\.0\.\d:(?:3000|4000)(?: 10\.0\.0\.\d:3000)?/g, (address) =>
        address.includes('4000') ? api.address : site.address,
      );
      await pair.serve(sites);
      for (const [host, path, [status, what]] of expected) {
        const answer = await pair.visit(host, path);
        const seen = answer.headers.location ?? (status < 400 ? answer.text : '');
        assert.deepEqual([answer.status, seen], [status, what], `${host}${path}`);
      }
    });

  for (const name of Object.keys(visits))
    test(`the example with access rules of ${name} does what the page says`, async () => {
      await using app = await Upstream.start('app', (request, response) =>
        response.end(`app for ${request.headers['x-auth-request-user']}`),
      );
      await using api = await Upstream.start('api', (request, response) => response.end(`api for ${request.headers['x-roles']}`));
      await using auth = await Upstream.start('oauth2-proxy', (request, response) => {
        const url = new URL(request.url ?? '/', 'http://auth');
        if (url.pathname === '/oauth2/sign_in') return void response.end(`sign in for ${url.searchParams.get('rd')}`);
        if (request.headers.cookie !== '_oauth2_proxy=bob') return void response.writeHead(401).end();
        response.writeHead(202, { 'X-Auth-Request-User': 'bob' }).end();
      });
      await using issuer = await Upstream.start('issuer', (_, response) =>
        response.end(JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: '1', alg: 'EdDSA' }] })),
      );
      const page = readFileSync(join(REPOSITORY, name), 'utf8');
      const [, sample = ''] = /^## An example with access rules$[\s\S]*?```sluicefile\n([\s\S]*?)```/m.exec(page) ?? [];
      const addresses = { '10.0.0.5:3000': app, '10.0.0.7:4000': api, '10.0.0.9:4180': auth, '10.0.0.9:8080': issuer };
      const sites = Object.entries(addresses).reduce((text, [address, upstream]) => text.replaceAll(address, upstream.address), sample);
      await pair.serve(sites);
      const stranger = await pair.visit('app.example', '/cart?a=1&b=2');
      assert.equal(stranger.status, 302);
      assert.equal((await pair.visit('app.example', stranger.headers.location)).text, 'sign in for http://app.example/cart?a=1&b=2');
      const known = { headers: { cookie: '_oauth2_proxy=bob', 'x-auth-request-user': 'admin' } };
      assert.equal((await pair.visit('app.example', '/cart', known)).text, 'app for bob');
      const claims = { exp: 9_999_999_999, iss: 'https://login.example', realm_access: { roles: ['buyer', 'admin'] } };
      const withKey = (key: string, token = tokenOf(claims)) =>
        pair.visit('app.example', '/api/x', {
          headers: { authorization: `Bearer ${token}`, 'x-api-key': `${key} of ${name}`, 'x-roles': 'root' },
        });
      assert.equal((await withKey('one')).text, 'api for buyer,admin');
      assert.equal((await withKey('one', `${tokenOf(claims).slice(0, -4)}AAAA`)).status, 401);
      assert.equal((await withKey('one')).status, 429);
      assert.equal((await withKey('two')).status, 200);
      assert.equal(app.requests + api.requests, 3);
    });
});
