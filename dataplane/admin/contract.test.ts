import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { type Reply, RunningAdmin } from './testing/running-admin.ts';

const route = (domain: string, more: object = {}) => ({ domain, upstream: '127.0.0.1:3000', tls: false, ...more });

const BAD_BODIES: readonly [what: string, body: unknown, error: RegExp][] = [
  ['a truncated object', '{"domain":', /^invalid JSON: /],
  ['null', 'null', /^invalid JSON: expected an object$/],
  ['a null upstream without anything else to respond with', { ...route('x'), upstream: null }, /^invalid JSON: upstream/],
  ['a rate below one', { ...route('x'), rate_limit_rps: 0 }, /^invalid JSON: rate_limit_rps/],
  ['a domain with a trailing dot', route('a.example.'), /^invalid domain: a domain must not end with a dot$/],
  ['a domain with characters outside ASCII', route('é.example'), /^invalid domain: /],
  ['a wildcard in the middle', route('a.*.example'), /^invalid domain: /],
  ['a domain of 254 characters', route(`${'a.'.repeat(126)}bb`), /^invalid domain: /],
  ['a list as the domain', { ...route('x'), domain: ['x'] }, /^invalid JSON: domain/],
  ['an upstream with a scheme', { ...route('x'), upstream: 'http://a:1' }, /^invalid upstream address: /],
  ['an empty upstream', { ...route('x'), upstream: '' }, /^invalid upstream address: /],
  [
    'two targets of which one is invalid',
    { ...route('x'), upstreams: [{ address: '127.0.0.1:3000' }, { address: 'b' }] },
    /^invalid upstream/,
  ],
  ['a wrong type and a bad domain', { domain: '..', upstream: 'a:1', tls: 'no' }, /^invalid JSON: tls/],
  ['a wrong type and a bad upstream', { domain: 'a.example', upstream: 'a', tls: 'no' }, /^invalid JSON: tls/],
  ['a missing member and a bad domain', { domain: '..', upstream: 'a:1' }, /^invalid JSON: .*tls/],
  ['a bad domain and a bad upstream', { domain: '..', upstream: 'a', tls: true }, /^invalid domain: /],
];

const WRONG_METHODS: readonly [path: string, wrong: string, allow: string][] = [
  ['/ready', 'DELETE', 'GET'],
  ['/routes/', 'POST', 'DELETE'],
  ['/metrics', 'POST', 'GET'],
  ['/analytics', 'DELETE', 'GET'],
  ['/analytics/a.example', 'PATCH', 'GET, DELETE'],
  ['/events', 'POST', 'GET'],
  ['/upstreams', 'PUT', 'GET'],
  ['/explain', 'POST', 'GET'],
  ['/settings', 'PURGE', 'GET'],
  ['/status', 'OPTIONS', 'GET'],
];

/** What holds on both transports: TCP with the token, and the socket without. */
for (const socket of [false, true]) {
  describe(`the contract over ${socket ? 'the Unix socket' : 'TCP'}`, () => {
    let api: RunningAdmin;
    before(async () => {
      api = await RunningAdmin.start();
    });
    after(() => api[Symbol.asyncDispose]());
    beforeEach(() => api.clock.pass(60_000));

    const send = (method: string, path: string): Promise<Reply> => api.request(method, path, { socket });
    const post = (body: unknown, headers: Record<string, string> = {}): Promise<Reply> =>
      api.post(typeof body === 'string' ? body : JSON.stringify(body), { socket, headers });
    const refuses = (reply: Reply, status: number, error: string | RegExp) => {
      assert.deepEqual([reply.status, reply.headers['content-type']], [status, 'application/json'], reply.text);
      const envelope = JSON.parse(reply.text) as { error: string };
      assert.deepEqual(Object.keys(envelope), ['error']);
      if (typeof error === 'string') assert.equal(envelope.error, error);
      else assert.match(envelope.error, error);
    };

    for (const [what, body, error] of BAD_BODIES)
      it(`POST /routes with ${what} is 400 and changes nothing`, async () => {
        const before = api.table.list().map((owned) => owned.route);
        refuses(await post(body), 400, error);
        assert.deepEqual(
          api.table.list().map((owned) => owned.route),
          before,
        );
      });

    it('POST /routes reads any content type except that of apply streams as JSON', async () => {
      for (const type of ['application/json; charset=utf-8', 'text/plain', 'application/x-www-form-urlencoded'])
        assert.equal((await post(route('typed.example'), { 'content-type': type })).status, 201);
    });

    it('POST /routes ignores unknown members and the origin that a route claims', async () => {
      assert.equal((await post(route('more.example', { colour: 'red', origin: 'a lie' }))).status, 201);
      const all = JSON.parse((await send('GET', '/routes?view=full')).text) as Record<string, unknown>[];
      const found = all.find(({ domain }) => domain === 'more.example');
      assert.deepEqual([found?.origin, found?.colour, found?.controller, found?.overrides], [undefined, undefined, null, null]);
    });

    it('GET /routes returns exactly the six members, sorted by domain', async () => {
      for (const domain of ['b.example', '*.c.example', 'a.example']) await post(route(domain, { rate_limit_rps: 5 }));
      const all = JSON.parse((await send('GET', '/routes')).text) as Record<string, unknown>[];
      assert.deepEqual(
        all.map(({ domain }) => domain).filter((domain) => /^.+[abc]\.example$|^[ab]\.example$/.test(`${domain}`)),
        ['*.c.example', 'a.example', 'b.example'],
      );
      for (const one of all) assert.deepEqual(Object.keys(one), ['domain', 'upstream', 'tls', 'rate_limit_rps', 'under_attack', 'source']);
      assert.equal(all.find(({ domain }) => domain === 'a.example')?.rate_limit_rps, 5);
    });

    it('DELETE accepts wildcards plain and escaped, and answers 404 for a domain that no route can have', async () => {
      for (const path of ['/routes/*.gone.example', '/routes/%2A.GONE.example']) {
        await post(route('*.gone.example'));
        const reply = await send('DELETE', path);
        assert.deepEqual([reply.status, JSON.parse(reply.text)], [200, { deleted: '*.gone.example' }]);
      }
      refuses(await send('DELETE', '/routes/no_such..domain'), 404, 'route not found');
    });

    it('PURGE is answered with 400 without a host or path, and with 501 for any key while there is no cache', async () => {
      for (const path of ['/cache/a.example', '/cache//x']) refuses(await send('PURGE', path), 400, 'missing cache key');
      for (const path of ['/cache/a.example/x/y?z=1', '/cache/a.example/%2Fx'])
        refuses(await send('PURGE', path), 501, 'cache not enabled');
    });

    for (const [path, wrong, allow] of WRONG_METHODS)
      it(`${wrong} ${path} is 405 and allows ${allow}`, async () => {
        const reply = await send(wrong, path);
        refuses(reply, 405, 'method not allowed');
        assert.equal(reply.headers.allow, allow);
      });

    it('HEAD is a wrong method even where no token is needed, and its response has no body', async () => {
      for (const path of ['/health', '/ready', '/metrics']) {
        const reply = await send('HEAD', path);
        assert.deepEqual([reply.status, reply.text, reply.headers.allow], [405, '', 'GET']);
      }
    });

    it('a bad percent-escape is answered with 400 for any method', async () => {
      for (const [method, path] of [
        ['DELETE', '/routes/%'],
        ['DELETE', '/routes/%C3%28'],
        ['GET', '/analytics/%E0%A4%A'],
        ['PATCH', '/routes/%zz'],
      ] as const)
        refuses(await send(method, path), 400, /^invalid path: /);
    });

    it('a request target in absolute form is the same request (RFC 9112 3.2.2)', async () => {
      assert.equal((await send('GET', 'http://localhost/routes?view=full')).status, 200);
      refuses(await send('GET', 'http://localhost/nowhere'), 404, 'not found');
      refuses(await send('GET', 'http://localhost'), 404, 'not found');
    });

    it('GET /explain accepts a host, a host with a path, and a URL', async () => {
      for (const [asked, url] of [
        ['a.example/x', 'http://a.example/x'],
        ['a.example:8080', 'http://a.example:8080/'],
        ['HTTPS://a.example', 'https://a.example/'],
        ['http://A.example//a/../%2E/é?b c#d', 'http://a.example//a/../%2E/%C3%A9?b%20c'],
      ] as const)
        assert.equal(JSON.parse((await send('GET', `/explain?url=${encodeURIComponent(asked)}`)).text).url, url);
      for (const query of ['?url=', '?url=a%20b', '?url=ftp%3A%2F%2Fa'])
        refuses(await send('GET', `/explain${query}`), 400, /^invalid query: url/);
    });
  });
}

describe('the order of checks', () => {
  it('is token, limit, path, method, body: the first that fails decides the response', async () => {
    await using api = await RunningAdmin.start();
    const big = { body: 'x'.repeat(65_537) };
    assert.equal((await api.request('POST', '/nowhere', { token: 'wrong', ...big })).status, 401);
    assert.equal((await api.request('POST', '/nowhere', big)).status, 404);
    assert.equal((await api.request('PUT', '/routes', big)).status, 405);
    assert.equal((await api.request('POST', '/routes', big)).status, 413);
    for (let times = 3; times < 60; times++) await api.request('GET', '/nowhere');
    assert.equal((await api.request('POST', '/nowhere', big)).status, 429);
    assert.equal((await api.request('POST', '/nowhere', { token: 'wrong', ...big })).status, 401);
    for (const path of ['/health', '/ready']) assert.equal((await api.request('GET', path, { token: null })).status, 200);
    assert.equal((await api.request('POST', '/health', { token: null })).status, 401);
    assert.equal((await api.request('POST', '/health')).status, 429);
  });

  it('lets a 401 name the expected scheme (RFC 9110 11.6.1)', async () => {
    await using api = await RunningAdmin.start();
    const { headers } = await api.request('GET', '/routes', { token: null });
    assert.match(`${headers['www-authenticate']}`, /^Bearer /);
  });

  it('compares the scheme without regard to case, but not the token', async () => {
    await using api = await RunningAdmin.start();
    const status = async (authorization: string) =>
      (await api.request('GET', '/routes', { token: null, headers: { authorization } })).status;
    assert.deepEqual(
      [await status('bearer the-token'), await status('Bearer THE-TOKEN'), await status('Basic the-token'), await status('the-token')],
      [200, 401, 401, 401],
    );
  });
});
