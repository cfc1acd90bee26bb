import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteInput } from '../../../shared/route.ts';
import { get, ProxyFixture } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field } from '../testing/wire.ts';

const route = (more: Partial<RouteInput>): RouteInput => ({ domain: 'a.test', upstream: null, tls: false, ...more });
const says = (body: string) => ({ respond: { status: 200, body } });
const asking = (path: string, ...fields: string[]): string =>
  get(path).replace('\r\n\r\n', `\r\n${fields.map((line) => `${line}\r\n`).join('')}\r\n`);

test('a block with a condition answers requests that match its condition and its path, and others go to the next block', async () => {
  using proxy = await ProxyFixture.start([
    route({
      handles: [
        { path: null, match: { path: ['/api/*'], not: [{ header: [{ name: 'X-Old', values: [] }] }] }, ...says('new') },
        { path: '/api/*', match: { query: [{ name: 'v', values: ['1'] }] }, ...says('one') },
        { path: null, ...says('rest') },
      ],
    }),
  ]);
  const bodies = [];
  for (const request of [get('/api/x'), asking('/api/x?v=1', 'x-old: 1'), asking('/api/x?v=2', 'X-Old: 1'), get('/else?v=1')])
    bodies.push((await proxy.request(request)).body);
  assert.deepEqual(bodies, ['new', 'one', 'rest', 'rest']);
});

test('conditional redirects and fixed responses apply only if their condition matches, in the site and in a block', async () => {
  const get1 = { method: ['GET'] };
  using proxy = await ProxyFixture.start([
    route({
      redirects: [{ from: '/*', to: 'https://b.test{uri}', status: 302, match: { header: [{ name: 'X-Move', values: ['yes'] }] } }],
      responds: [{ status: 403, body: 'no', match: { path: ['/secret/*'] } }],
      handles: [{ path: '/b/*', responds: [{ status: 201, body: 'got', match: get1 }], ...says('block') }],
      ...says('site'),
    }),
  ]);
  assert.equal(field((await proxy.request(asking('/secret/x?y', 'X-Move: yes'))).head, 'Location'), 'https://b.test/secret/x?y');
  assert.match((await proxy.request(get('/secret/x'))).line, / 403 /);
  assert.match((await proxy.request(get('/b/x'))).line, / 201 /);
  assert.equal((await proxy.request(get('/b/x').replace('GET', 'DELETE'))).body, 'block');
  assert.equal((await proxy.request(get('/x'))).body, 'site');
});

test('conditional headers are set and removed only if their condition matches, in addition to unconditional ones', async () => {
  const debug = { header: [{ name: 'X-Debug', values: [] }] };
  using upstream = await UpstreamFixture.serving(ok('x', 'Server: origin\r\n'));
  using proxy = await ProxyFixture.start([
    route({
      upstream: upstream.address,
      headers: [
        { name: 'X-Site', value: 'always' },
        { name: 'X-Mode', value: 'plain' },
        { name: 'X-Mode', value: 'debug', match: debug },
        { name: 'Server', value: null, match: { not: [debug] } },
      ],
    }),
  ]);
  const headers = async (request: string) => {
    const { head } = await proxy.request(request);
    return ['X-Site', 'X-Mode', 'Server'].map((name) => field(head, name));
  };
  assert.deepEqual(await headers(asking('/', 'X-Debug: 1')), ['always', 'debug', 'origin']);
  assert.deepEqual(await headers(get('/')), ['always', 'plain', null]);
  assert.deepEqual(await headers(asking('/', 'X-Debug: 1')), ['always', 'debug', 'origin']);
});

test('a guarded route refuses a path that its conditions could read in two ways', async () => {
  using proxy = await ProxyFixture.start([
    route({
      basic_auth: { users: [{ name: 'bob', hash: '$2b$04$abcdefghijklmnopqrstuuGZ9YlYc0Y1vYV1cKzY8Wc2jYQ7mU7ga' }] },
      handles: [
        { path: null, match: { path: ['/admin/*'] }, ...says('admin') },
        { path: null, ...says('rest') },
      ],
    }),
  ]);
  assert.match((await proxy.request(get('/x/..%2fadmin/y'))).line, / 400 /);
  assert.match((await proxy.request(get('/x/admin'))).line, / 401 /);
});

test('a response that comes from no block has only the unconditional headers', async () => {
  const headers = [
    { name: 'X-Site', value: 'always' },
    { name: 'X-Got', value: 'yes', match: { method: ['GET'] } },
  ];
  using proxy = await ProxyFixture.start([route({ headers, handles: [{ path: '/a', ...says('a') }] })]);
  const inBlock = await proxy.request(get('/a'));
  const outside = await proxy.request(get('/b'));
  assert.match(outside.line, / 404 /);
  assert.deepEqual([field(inBlock.head, 'X-Got'), field(outside.head, 'X-Got'), field(outside.head, 'X-Site')], ['yes', null, 'always']);
});

test('a conditional refusal refuses an ambiguous path even without basic_auth', async () => {
  const match = { path: ['/admin/*'], not: [{ remote_ip: ['10.0.0.0/8'] }] };
  using proxy = await ProxyFixture.start([route({ responds: [{ status: 404, body: '', match }], ...says('rest') })]);
  for (const [path, status] of [
    ['/admin/x', 404],
    ['/x/..%2fadmin/y', 400],
    ['/x/%2e%2e/admin/y', 400],
    ['/x%2Fy', 200],
    ['/x', 200],
  ] as const)
    assert.match((await proxy.request(get(path))).line, new RegExp(` ${status} `), path);
});

test('a conditional rate limit counts only matching requests, in addition to the general limit', async () => {
  const rate_limits = [{ rps: 1, match: { path: ['/slow/*'] } }];
  using proxy = await ProxyFixture.start([
    route({
      rate_limit_rps: 4,
      rate_limits,
      handles: [{ path: null, rate_limits: [{ rps: 2, match: { method: ['PUT'] } }], ...says('x') }],
    }),
  ]);
  const statusOf = async (path: string, method = 'GET') => (await proxy.request(get(path).replace('GET', method))).line.slice(9, 12);
  assert.deepEqual([await statusOf('/slow/a'), await statusOf('/slow/b'), await statusOf('/')], ['200', '429', '200']);
  proxy.clock.pass(5_000);
  assert.deepEqual([await statusOf('/', 'PUT'), await statusOf('/', 'PUT'), await statusOf('/', 'PUT')], ['200', '200', '429']);
  assert.deepEqual([await statusOf('/'), await statusOf('/')], ['200', '429']);
});
