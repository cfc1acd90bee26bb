import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RouteInput, routeSchema } from '../../../shared/route.ts';
import { get, ProxyFixture } from '../testing/proxy/test-proxy.ts';
import { sampleExchange } from '../testing/samples/sample-exchange.ts';
import { compileAmbiguity } from './ambiguity.ts';
import { traitsOf } from './block-traits.ts';

const says = (body: string) => ({ respond: { status: 200, body } });
const users = [{ name: 'bob', hash: '$2b$04$abcdefghijklmnopqrstuuGZ9YlYc0Y1vYV1cKzY8Wc2jYQ7mU7ga' }];
const route = (more: Partial<RouteInput>): RouteInput => ({ domain: 'a.test', upstream: null, tls: false, ...says('rest'), ...more });

/** Some server reads these as `/admin/x`, although they don't match `/admin/*` here. */
const HOSTILE = [
  // Tomcat and Jetty drop parameters, and some servers look for them after all decoding.
  '/admin;a=b/x',
  '/admin;/x',
  '/;a/admin/x',
  '/;/admin/x',
  '/admin%3b/x',
  '/admin%3Ba=b/x',
  '/x/..;/admin/y',
  '/x/..;a=b/admin/y',
  // Slashes in disguise, decoded once or twice.
  '/admin%2fx',
  '/admin%252fx',
  '/admin%25252fx',
  '/x%2f..%2fadmin%2fy',
  '/x/%2e%2e/admin/y',
  '/x/%252e%252e/admin/y',
  '/x/..%252fadmin/y',
  '/%2fadmin/x',
  // Backslashes (IIS, and URL parsers of browsers).
  '/admin\\x',
  '/admin%5cx',
  '/x/..\\admin\\y',
  '/x\\..\\admin\\y',
  '/\\x/admin/y',
  // Overlong UTF-8, full-width forms and best-fit mappings.
  '/%c0%af/admin/x',
  '/admin%c0%2fx',
  '/admin%25c0%252fx',
  '/x/%c0%2e%c0%2e/admin/y',
  '/admin%c1%1cx',
  '/x/%e2%80%a5/admin/y',
  '/x/%ef%b8%b0/admin/y',
  '/x/%c0%ae%c0%ae/admin/y',
  '/admin%e0%80%afx',
  '/admin%f0%80%80%afx',
  '/admin%ef%bc%8fx',
  '/%ef%bd%81dmin/x',
  '/admin%e2%88%95x',
  '/admin%c2%a5x',
  '/admin%25u002fx',
  // Ends of names that Windows trims, and alternate data streams.
  '/admin./',
  '/admin.../x',
  '/admin%2e/x',
  '/admin%20/',
  '/admin%20./x',
  '/%20admin/x',
  '/admin::$DATA/x',
  '/admin:$i30:$INDEX_ALLOCATION/x',
  // The host of a network-path, and a query in disguise.
  '//x/admin/y',
  '/%2fx/admin/y',
  // URL parsers skip more slashes before the host, and end it at a backslash.
  '///x/admin/y',
  '////x/admin;/y',
  '//\\/x/admin/y',
  '///x%2fadmin/y',
  '//x\\admin/y',
  '/%09/x/admin/y',
  '/\\x%2f@y/admin/z',
  '/admin%3f/x',
  '/admin%23/x',
  // Not interpreted at all.
  '/admin%00/x',
  '/adm%0ain/x',
  '/admin%01/x',
  '/x%2500/admin',
  '/%zz/admin',
  '/100%',
  '/%u002fadmin/x',
  '/%2525252561',
];

/** No server reads these as a guarded path. */
const HARMLESS = [
  '/100%25',
  '/a;b',
  '/a;b=c/d;e',
  '/docs/v1./x',
  '/docs/../img/x',
  '/a%2Fb',
  '/a%252Fb',
  '/@scope%2fname',
  '/a\\b',
  '/my%20file.txt',
  '/my%20',
  '/caf%C3%A9',
  '/.well-known/x',
  '/wiki/Special:Random',
  '/a::b',
  '/what%3f',
  '/c%23',
  '/administrator;a/x',
  '/x/administration./y',
  '/a/admin;b/x',
  '/a/;/admin/x',
  '/%E2%80%99x',
  '/wait%E2%80%A6/x',
  '/%C0%20la%20carte',
  '/admin;x',
  '///x/y',
  '///x',
];

const GUARDS: readonly [name: string, more: Partial<RouteInput>, status: string][] = [
  ['a password', { handles: [{ path: '/admin/*', basic_auth: { users } }] }, '401'],
  ['a refusal', { handles: [{ path: '/admin/*', respond: { status: 403 } }] }, '403'],
  ['an answer', { handles: [{ path: '/admin/*', respond: { status: 200, body: 'fixed' } }] }, '200'],
  ['a rate limit of a block', { handles: [{ path: '/admin/*', rate_limit_rps: 100_000 }] }, '200'],
  ['a rate limit with a matcher', { rate_limits: [{ rps: 100_000, match: { path: ['/admin/*'] } }] }, '200'],
  ['a redirect', { redirects: [{ from: '/admin/*', to: '/new', status: 302 }] }, '302'],
  ['a redirect of a block', { handles: [{ path: '/admin/*', redirects: [{ from: '/*', to: '/new', status: 302 }] }] }, '302'],
  ['a refusal with a matcher', { responds: [{ status: 404, match: { path: ['/admin/*'], not: [{ remote_ip: ['10.0.0.0/8'] }] } }] }, '404'],
  [
    'an exception',
    {
      responds: [
        { status: 404, match: { method: ['GET'], not: [{ path: ['/*'] }] } },
        { status: 410, match: { path: ['/admin/*'] } },
      ],
    },
    '410',
  ],
  ['a block under maintenance', { handles: [{ path: '/admin/*', maintenance: { on: true } }] }, '503'],
];

for (const [name, more, status] of GUARDS)
  test(`behind ${name} only a path that some server could read as a guarded one is refused with 400`, async () => {
    using proxy = await ProxyFixture.start([route(more)]);
    const client = await proxy.connect();
    const statusOf = async (path: string): Promise<string> => {
      client.send(get(path));
      return (await client.readAnswer()).line.slice(9, 12);
    };
    for (const path of HOSTILE) assert.equal(await statusOf(path), '400', path);
    for (const path of HARMLESS) assert.equal(await statusOf(path), '200', path);
    for (const path of ['/admin/x', '/admin/', '/%61dmin/x', '/admin/a;b', '/admin/a%2Fb', '/admin/x/../y', '/admin/a./b', '/admin//x'])
      assert.equal(await statusOf(path), status, path);
    assert.equal(await statusOf('/admin/../x'), '400');
  });

test('a path that upstreams may read as one outside of a block that is exempt from maintenance is refused', async () => {
  const hooks = { path: '/hooks/*', maintenance: { on: false } };
  using proxy = await ProxyFixture.start([route({ maintenance: { on: true }, handles: [hooks] })]);
  for (const [path, status] of [
    ['/hooks/a', 200],
    ['/hooks/a%2Fb', 200],
    ['/hooks/..;/pay', 400],
    ['/hooks/..%2Fpay', 400],
    ['//hooks/pay', 400],
    ['//hooks/hooks/a', 200],
    ['//pay', 503],
    ['/pay', 503],
  ] as const)
    assert.match((await proxy.request(get(path))).line, new RegExp(` ${status} `), path);
});

test('a network-path is read as a typo where that evades no maintenance', async () => {
  const hooks = { path: '/hooks/*', maintenance: { on: false } };
  const statusOf = async (more: Partial<RouteInput>, path: string): Promise<string> => {
    using proxy = await ProxyFixture.start([route(more)]);
    return (await proxy.request(get(path))).line.slice(9, 12);
  };
  const on = (match?: object) => ({ on: true, ...(match && { match }) });
  assert.equal(await statusOf({ maintenance: on({ method: ['POST'] }), handles: [hooks] }, '//hooks/pay'), '200');
  assert.equal(await statusOf({ maintenance: on({ path: ['/shop/*'] }), handles: [hooks] }, '//hooks/pay'), '200');
  assert.equal(await statusOf({ maintenance: on({ path: ['/shop/*'] }), handles: [hooks] }, '//hooks/shop/x'), '400');
  assert.equal(await statusOf({ maintenance: on(), handles: [hooks, { path: '/shut/*', maintenance: on() }] }, '//shut/x'), '503');
  assert.equal(await statusOf({ maintenance: on(), handles: [hooks, { ...hooks, path: '/api/*' }] }, '//hooks/api/x'), '200');
  assert.equal(await statusOf({ maintenance: on(), handles: [hooks, { path: '/api/*' }] }, '//hooks/api/x'), '400');
});

test('patterns for the end or a part of a path are evaluated in all readings too', async () => {
  const refused = (path: string): RouteInput => route({ responds: [{ status: 403, match: { path: [path] } }] });
  for (const [pattern, hostile, matched, harmless] of [
    [
      '*.php',
      ['/a.php;b', '/a.php.', '/a.php%20', '/a.php::$DATA', '/a.php%3fx', '/a.ph%2570', '/a.php/..;', '/b;a.php'],
      ['/x;y/a.php', '/a%2Fb.php/../c.php'],
      ['/a.php;b/c', '/a.phpx;'],
    ],
    [
      '*/admin/*',
      ['/x/admin;/y', '/x%2fadmin/y', '/x/admin./y', '/x/;/admin%2f'],
      ['/x/admin/y;z', '/x;y/admin/z'],
      ['/x/administrator;/y', '/x/y;admin/z'],
    ],
    [
      '*/.*',
      ['/a%2F.git/x', '/a\\.env', '/a/%20.env', '/a/%20%20.env', '/a%2F%20%01.env', '/a%20b%20.c%2F%20.env', '/a/;/../b'],
      ['/.git/x', '/a/.env', '/%2Eenv', '/.a/x;b'],
      ['/a%2Fb', '/a.b;c', '/a./b', '/wiki/Intro%20to%20.NET%2FCore', '/files/ASP%20.NET;v=1', '/a%2F%20b%20%20.c'],
    ],
    ['/status', ['/status;x', '/status%20', '/status.', '/x/../status', '/status%2f'], ['/status'], ['/status/x;y', '/statusx;y']],
    ['/adm*', ['/%ef%bd%81dmin', '/x/..;/admin'], ['/admin', '/adm/x;y'], ['/x;y/adm', '/ad;m']],
  ] as const) {
    using proxy = await ProxyFixture.start([refused(pattern)]);
    for (const [status, paths] of [
      [400, hostile],
      [403, matched],
      [200, harmless],
    ] as const)
      for (const path of paths) assert.match((await proxy.request(get(path))).line, new RegExp(` ${status} `), `${pattern} ${path}`);
  }
});

test('without guards that depend on the path, every path is forwarded as it was sent', async () => {
  for (const more of [
    { handles: [{ path: '/admin/*', ...says('rest') }].map(({ path }) => ({ path, headers: [{ name: 'X-A', value: 'b' }] })) },
    { rate_limit_rps: 100_000 },
    { rate_limits: [{ rps: 100_000, match: { method: ['GET'] } }] },
    { rate_limit_rps: 100_000, handles: [{ path: '/admin/*', headers: [] }] },
  ] satisfies Partial<RouteInput>[]) {
    using proxy = await ProxyFixture.start([route(more)]);
    const client = await proxy.connect();
    for (const path of HOSTILE) {
      client.send(get(path));
      assert.match((await client.readAnswer()).line, / 200 /, path);
    }
  }
});

test('with path_case insensitive all patterns match in any letter case, and a path that may match one in any case is refused', async () => {
  const insensitive: Partial<RouteInput> = {
    path_case: 'insensitive',
    redirects: [{ from: '/Old/*', to: '/new/{remainder}', status: 301 }],
    responds: [{ status: 410, match: { path: ['*.PHP'] } }],
    handles: [{ path: '/Admin/*', respond: { status: 403 } }],
  };
  using proxy = await ProxyFixture.start([route(insensitive), route({ ...insensitive, path_case: 'sensitive', domain: 'b.test' })]);
  for (const [path, status, sensitive] of [
    ['/ADMIN/x', 403, 200],
    ['/admin/x', 403, 200],
    ['/%41DMIN/x', 403, 200],
    ['/Admin/x', 403, 403],
    ['/ADMIN;/x', 400, 200],
    ['/%ef%bc%a1dmin/x', 400, 400],
    ['/aDmin%2Fx', 400, 200],
    ['/x.Php', 410, 200],
    ['/x.Php;a', 400, 200],
    ['/other', 200, 200],
  ] as const) {
    assert.match((await proxy.request(get(path))).line, new RegExp(` ${status} `), path);
    assert.match((await proxy.request(get(path).replace('a.test', 'b.test'))).line, new RegExp(` ${sensitive} `), path);
  }
  assert.match((await proxy.request(get('/OLD/AbC'))).head, /\r\nLocation: \/new\/AbC\r\n/);
});

test('a path that is too long for an expression is refused where the expression decides about a guard', async () => {
  const [short, long] = [`/admin/${'x'.repeat(4_089)}`, `/admin/${'x'.repeat(4_090)}`];
  const match = { path_regexp: ['^/admin'] };
  const guards: readonly (readonly [Partial<RouteInput>, number])[] = [
    [{ responds: [{ status: 403, match }] }, 403],
    [{ handles: [{ path: null, match, basic_auth: { users } }] }, 401],
    [{ handles: [{ path: null, match, ...says('open') }], basic_auth: { users } }, 401],
    [{ responds: [{ status: 403, match: { not: [match] } }] }, 200],
  ];
  for (const [more, status] of guards) {
    using proxy = await ProxyFixture.start([route(more)]);
    assert.match((await proxy.request(get(short))).line, new RegExp(` ${status} `), JSON.stringify(more));
    assert.match((await proxy.request(get(long))).line, / 400 /, JSON.stringify(more));
  }
  using proxy = await ProxyFixture.start([route({ handles: [{ path: null, match, headers: [{ name: 'X-A', value: '1' }] }] })]);
  assert.match((await proxy.request(get(long))).line, / 200 /, 'without a guard');
});

test("the proxy's own paths are never forwarded, however they are written", async () => {
  using proxy = await ProxyFixture.start([route({})]);
  for (const path of [
    '/.sluice/',
    '/.sluice/vitals',
    '//.sluice/x',
    '/x/../.sluice/y',
    '/%2esluice/x',
    '/.%73luice/x',
    '/.sluice%2fx',
    '/.sluice;a/x',
    '/.sluice\\x',
  ])
    assert.match((await proxy.request(get(path))).line, / 404 /, path);
  for (const path of [`/.sluice;a/${'x/'.repeat(200)}`, '/.sluice%2fx%00'])
    assert.match((await proxy.request(get(path))).line, / 404 /, 'also a path that is not interpreted');
  for (const path of ['/.sluice', '/.sluicex/y', '/.well-known/x', '/x/.sluice/y'])
    assert.match((await proxy.request(get(path))).line, / 200 /, path);
  assert.match(proxy.dryRun('http://a.test/.sluice/x').verdict, /^404: /);
});

test('a path whose rest, without the prefix that a block takes off, could name a host is refused only where that would evade a guard', async () => {
  const more: Partial<RouteInput> = {
    responds: [{ status: 403, match: { path: ['/api/admin/*'] } }],
    handles: [
      { path: '/api/v1/*', basic_auth: { users } },
      { path: '/api/*', strip_prefix: true, request_body: { max_size: 9 } },
    ],
  };
  using proxy = await ProxyFixture.start([route(more)]);
  for (const [status, ...paths] of [
    [400, '/api//x/admin/y', '/api///x/admin/y', '/api/\\x/admin/y', '/api/%2fx/admin/y', '/api/%255cx%2fadmin/y', '/api//x%2f@y/admin/z'],
    [400, '/%61pi//x/admin/y', '/api//x/v1/y'],
    [400, '/api/%09/x/admin/y', '/api//%09/x/admin/y', '/api/%ef%bc%8fx/admin/y', '/api/%25u002fx/admin/y', '/api/%e2%88%95x/admin/y'],
    [400, '/api/%25c0%25afx/admin/y', '/api/%e2%81%84x%2525/admin/y'],
    [403, '/api//admin/x'],
    [401, '/api//v1/x'],
    [200, '/api//x/y', '/api//x', '/api//', '/api/x//admin/y', '/other//x/admin/y'],
    [200, '/api/%ef%bc%8fx/y', '/api/%e2%88%95100%25/y', '/api/%09', '/api/%e2%80%99x/admin/y'],
  ] as const)
    for (const path of paths) assert.match((await proxy.request(get(path))).line, new RegExp(` ${status} `), path);
});

test('what it takes to check a path that loses its prefix counts as work of its connection, which grows with the blocks', () => {
  const handles = Array.from({ length: 500 }, (_, nth) => ({ path: `/a${nth}/*`, strip_prefix: true, basic_auth: { users } }));
  const whole = routeSchema.parse(route({ handles }));
  const ambiguity = compileAmbiguity(traitsOf(whole), false, () => whole);
  for (const [path, blocks] of [
    ['/a499/x//y', 500],
    ['/b/x//y', 500],
    ['/a499//x/y', 1_000],
  ] as const) {
    const x = sampleExchange({ method: 'GET', target: path, kept: '', length: 0, chunked: false });
    x.path = path.replace('//', '/');
    assert.equal(ambiguity?.(x), false);
    assert.ok(x.pathCost > blocks, path);
  }
});
