import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';
import { REPOSITORY } from '../testing/process.ts';
import { Upstream } from '../testing/upstream.ts';

/**
 * The samples of the reference, with servers that behave like oauth2-proxy, and as documented for Authelia and Authentik: the path of the
 * check, the facts that they need about the request, and their answers with and without a session.
 */

/** The sample of the reference that has this text. */
function sampleWith(text: string, addresses: Readonly<Record<string, string>>): string {
  const reference = readFileSync(join(REPOSITORY, 'shared/policy/forward-auth/reference.md'), 'utf8');
  const samples = [...reference.matchAll(/```sluicefile\n([\s\S]*?)```/g)].map(([, sample = '']) => sample);
  const sample = samples.find((one) => one.includes(text)) ?? assert.fail(`no sample has ${text}`);
  return Object.entries(addresses).reduce((whole, [name, address]) => whole.split(name).join(address), sample);
}

const app = (): Promise<Upstream> =>
  Upstream.start('app', (request, response) => {
    const { 'remote-user': authelia, 'x-authentik-username': authentik, 'x-auth-request-user': oauth2 } = request.headers;
    response.end(`app for ${authelia ?? authentik ?? oauth2}`);
  });

/**
 * AuthzImplForwardAuth of Authelia 4.39: the site must have HTTPS and belong to the domain of the session's cookie; browsers are
 * redirected, others get 401 with the same Location.
 */
const authelia: RequestListener = (request, response) => {
  const { 'x-forwarded-method': method, 'x-forwarded-proto': proto, 'x-forwarded-host': host, 'x-forwarded-uri': uri } = request.headers;
  const url = new URL(request.url ?? '/', 'http://authelia');
  if (url.pathname !== '/api/authz/forward-auth' && url.pathname !== '/api/verify') return void response.end('the login page');
  if (!method || !uri || proto !== 'https' || !`${host}`.endsWith('.shop.example')) return void response.writeHead(400).end();
  if (request.headers.cookie?.includes('authelia_session=bob')) {
    response.setHeaders(
      new Map([
        ['Remote-User', 'bob'],
        ['Remote-Groups', 'dev,ops'],
        ['Remote-Name', 'Bob'],
        ['Remote-Email', 'bob@example.com'],
      ]),
    );
    return void response.end();
  }
  const rd = url.searchParams.get('rd') ?? 'https://auth.shop.example/';
  const isSafe = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
  const status = request.headers.accept?.includes('text/html') ? (isSafe ? 302 : 303) : 401;
  response.writeHead(status, { location: `${rd}?rd=${encodeURIComponent(`${proto}://${host}${uri}`)}&rm=${method}` }).end();
};

/** As from a proxy in front that terminates TLS. */
const HTTPS = { 'x-forwarded-proto': 'https' };
const HTML = { ...HTTPS, accept: 'text/html' };

/** Where oauth2-proxy 7.15 returns a client after the login: to a path; to whole URLs only if their domain is in its --whitelist-domain. */
const returnTo = (url: URL): string => {
  const rd = url.searchParams.get('rd') ?? '/';
  return rd.startsWith('/') && !/[/\\][\s.]{0,2}[/\\]/.test(rd) ? rd : '/';
};

describe('forward_auth as documented', () => {
  const folder = new Folder();
  let pair: Pair;
  before(async () => {
    pair = await Pair.start(folder, '', { flags: ['--trusted-proxies', '127.0.0.1'] });
  });
  after(async () => {
    await pair?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  for (const uri of ['/api/authz/forward-auth', '/api/verify?rd=https://auth.shop.example/'])
    test(`Authelia decides about requests at ${uri}`, async () => {
      await using auth = await Upstream.start('authelia', authelia);
      await using behind = await app();
      const sites = sampleWith('authelia:9091', { 'authelia:9091': auth.address, 'app:3000': behind.address });
      await pair.serve(sites.replace('/api/authz/forward-auth', uri));
      const stranger = await pair.visit('app.shop.example', '/a?b=1&c=2', { headers: HTML });
      assert.deepEqual(
        [stranger.status, stranger.headers.location],
        [302, `https://auth.shop.example/?rd=${encodeURIComponent('https://app.shop.example/a?b=1&c=2')}&rm=GET`],
      );
      const posted = await pair.visit('app.shop.example', '/a', { method: 'POST', headers: HTML, body: 'x=1' });
      assert.deepEqual([posted.status, posted.headers.location?.slice(-7)], [303, 'rm=POST']);
      assert.equal((await pair.visit('app.shop.example', '/a', { headers: { ...HTTPS, 'remote-user': 'admin' } })).status, 401);
      assert.equal((await pair.visit('app.shop.example', '/a')).status, 400);
      const known = { headers: { ...HTTPS, cookie: 'authelia_session=bob', 'remote-user': 'admin' } };
      assert.equal((await pair.visit('app.shop.example', '/a', known)).text, 'app for bob');
      assert.equal((await pair.visit('auth.shop.example', '/')).text, 'the login page');
      assert.equal(behind.requests, 1);
    });

  test('Authentik decides about requests, and its own path reaches its outpost', async () => {
    await using outpost = await Upstream.start('authentik', (request, response) => {
      const { 'x-forwarded-host': host, 'x-forwarded-uri': uri, 'x-forwarded-proto': proto, cookie = '' } = request.headers;
      if (request.url?.startsWith('/outpost.goauthentik.io/start')) return void response.end('start');
      if (request.url !== '/outpost.goauthentik.io/auth/caddy') return void response.writeHead(404).end();
      if (host !== 'app.example') return void response.writeHead(400).end();
      if (cookie.includes('authentik_proxy=bob'))
        return void response.writeHead(200, { 'X-authentik-username': 'bob', 'X-authentik-uid': '1' }).end();
      const location = `${proto}://${host}/outpost.goauthentik.io/start?rd=${encodeURIComponent(`${proto}://${host}${uri}`)}`;
      response.writeHead(302, { location, 'set-cookie': 'authentik_proxy=state; Path=/' }).end();
    });
    await using behind = await app();
    const sites = sampleWith('authentik:9000', { 'authentik:9000': outpost.address, 'app:3000': behind.address });
    await pair.serve(sites);
    const stranger = await pair.visit('app.example', '/a?b=1', { headers: { 'X-Authentik-Username': 'admin' } });
    assert.deepEqual(
      [stranger.status, stranger.headers.location, stranger.headers['set-cookie']],
      [
        302,
        `http://app.example/outpost.goauthentik.io/start?rd=${encodeURIComponent('http://app.example/a?b=1')}`,
        ['authentik_proxy=state; Path=/'],
      ],
    );
    assert.equal((await pair.visit('app.example', '/outpost.goauthentik.io/start?rd=x')).text, 'start');
    assert.equal((await pair.visit('app.example', '/', { headers: { cookie: 'authentik_proxy=bob' } })).text, 'app for bob');
    assert.equal(behind.requests, 1);
  });

  test('oauth2-proxy decides about requests, its 401 becomes a redirect to its page, and clients add no parameter to its decision', async () => {
    const asked: string[] = [];
    await using proxy = await Upstream.start('oauth2-proxy', (request, response) => {
      const url = new URL(request.url ?? '/', 'http://oauth2-proxy');
      if (url.pathname === '/oauth2/sign_in') return void response.end(`sign in for ${returnTo(url)}`);
      if (url.pathname !== '/oauth2/auth') return void response.writeHead(404).end();
      asked.push(request.url ?? '');
      if (!request.headers.cookie?.includes('_oauth2_proxy=bob')) return void response.writeHead(401).end('Unauthorized');
      // With --cookie-refresh, an older session gets a new cookie, in several parts if it is long.
      const refreshed = request.headers.cookie.includes('bob-old')
        ? { 'set-cookie': ['_oauth2_proxy_0=bob; Path=/', '_oauth2_proxy_1=x'] }
        : {};
      response.writeHead(202, { 'X-Auth-Request-User': 'bob', 'X-Auth-Request-Email': 'bob@example.com', ...refreshed }).end();
    });
    await using behind = await app();
    const sites = sampleWith('oauth2-proxy:4180', { 'oauth2-proxy:4180': proxy.address, 'app:3000': behind.address });
    await pair.serve(sites);
    const stranger = await pair.visit('app.example', '/a?b=1&allowed_groups=all');
    assert.equal(stranger.status, 302);
    const location = stranger.headers.location ?? '';
    assert.match(location, /^\/oauth2\/sign_in\?rd=/);
    assert.equal(new URL(location, 'http://app.example').searchParams.get('rd'), '/a?b=1&allowed_groups=all');
    assert.equal((await pair.visit('app.example', location)).text, 'sign in for /a?b=1&allowed_groups=all');
    const known = { headers: { cookie: '_oauth2_proxy=bob', 'x-auth-request-user': 'admin' } };
    assert.equal((await pair.visit('app.example', '/?allowed_groups=all', known)).text, 'app for bob');
    const older = await pair.visit('app.example', '/', { headers: { cookie: '_oauth2_proxy=bob-old' } });
    assert.deepEqual([older.text, older.headers['set-cookie']], ['app for bob', ['_oauth2_proxy_0=bob; Path=/', '_oauth2_proxy_1=x']]);
    assert.deepEqual(new Set(asked), new Set(['/oauth2/auth']));
  });
});
