import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashSync } from 'bcrypt';
import type { RouteInput } from '../../../../shared/route.ts';
import { as, ManualCompares } from '../../testing/manual-compares.ts';
import { get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field } from '../../testing/wire.ts';

const guarded = (realm: string, users: Readonly<Record<string, string>>, more: Partial<RouteInput> = {}): RouteInput => ({
  domain: 'a.test',
  upstream: null,
  tls: false,
  respond: { status: 200, body: 'in' },
  basic_auth: { realm, users: Object.entries(users).map(([name, password]) => ({ name, hash: hashSync(password, 4) })) },
  ...more,
});

test('a known user with the right password is admitted, and no one else', async () => {
  using proxy = await ProxyFixture.start([guarded('staff', { bob: 'secret', zoë: 'pa:ss wörd', empty: '' })]);
  const status = async (fields: string) => (await proxy.request(get('/', fields))).line.slice(9, 12);
  for (const credentials of ['bob:secret', 'zoë:pa:ss wörd', 'empty:']) assert.equal(await status(as(credentials)), '200', credentials);
  for (const credentials of ['bob:Secret', 'bob:', 'bob:secret ', 'Bob:secret', 'eve:secret', ':secret', 'empty:x', 'zoë:pa'])
    assert.equal(await status(as(credentials)), '401', credentials);
});

test('a refused client is asked for a password, with the realm quoted safely', async () => {
  using proxy = await ProxyFixture.start([guarded('a "b" \\ c', { bob: 'secret' })]);
  for (const fields of ['', as('bob:wrong')]) {
    const { line, head, body } = await proxy.request(get('/', fields));
    assert.equal(line, 'HTTP/1.1 401 Unauthorized');
    assert.equal(field(head, 'WWW-Authenticate'), 'Basic realm="a \\"b\\" \\\\ c", charset="UTF-8"');
    assert.equal(field(head, 'X-Content-Type-Options'), 'nosniff');
    assert.doesNotMatch(body, /in$/);
  }
});

const BASIC = Buffer.from('bob:secret').toString('base64');
for (const [what, fields] of [
  ['another scheme', `Authorization: Bearer ${BASIC}\r\n`],
  ['no scheme', `Authorization: ${BASIC}\r\n`],
  ['no credentials', 'Authorization: Basic\r\n'],
  ['no base64', 'Authorization: Basic b*b\r\n'],
  ['two tokens', `Authorization: Basic ${BASIC} ${BASIC}\r\n`],
  ['no colon', `Authorization: Basic ${Buffer.from('bob').toString('base64')}\r\n`],
  ['a NUL after the password', as('bob:secret\0')],
  ['two fields', `${as('bob:secret')}${as('bob:secret')}`],
  ['a second field in another letter case', `${as('bob:secret')}AUTHORIZATION: Basic x\r\n`],
] as const)
  test(`an Authorization with ${what} is answered with 401 without a comparison`, async () => {
    const compares = new ManualCompares();
    using proxy = await ProxyFixture.start([guarded('staff', { bob: 'secret' })], [], compares.compare);
    assert.match((await proxy.request(get('/', fields))).line, / 401 /);
    assert.equal(compares.begun.length, 0);
  });

test('the scheme and the field name are case-insensitive', async () => {
  using proxy = await ProxyFixture.start([guarded('staff', { bob: 'secret' })]);
  assert.match((await proxy.request(get('/', `authorization:  bASIC  ${BASIC} \r\n`))).line, / 200 /);
});

test('the Authorization field is forwarded to the target', async () => {
  using upstream = await UpstreamFixture.serving((request) => ok(field(request.head, 'Authorization') ?? 'none'));
  using proxy = await ProxyFixture.start([{ ...guarded('staff', { bob: 'secret' }), ...site('a.test', upstream), respond: null }]);
  assert.equal((await proxy.request(get('/', as('bob:secret')))).body, `Basic ${BASIC}`);
});

test('a body is held back until the password is checked, and then forwarded whole', async () => {
  using upstream = await UpstreamFixture.serving((request) => ok(request.body));
  const compares = new ManualCompares();
  using proxy = await ProxyFixture.start(
    [{ ...guarded('staff', { bob: 'secret' }), ...site('a.test', upstream), respond: null }],
    [],
    compares.compare,
  );
  const client = await proxy.connect();
  const post = (framing: string, body: string) => `POST / HTTP/1.1\r\nHost: a.test\r\n${as('bob:secret')}${framing}\r\n\r\n${body}`;
  client.send(post('Content-Length: 5', 'hello') + post('Transfer-Encoding: chunked', '3\r\nabc\r\n0\r\n\r\n'));
  await compares.until(1);
  assert.equal(upstream.connections.length, 0);
  compares.settle(0, true);
  assert.equal((await client.readAnswer()).body, 'hello');
  assert.equal((await client.readAnswer()).body, 'abc');
});

test("a block's users replace its site's, and a block without users inherits them", async () => {
  const respond = { status: 200, body: 'block' };
  const basic_auth = { users: [{ name: 'ann', hash: hashSync('inner', 4) }] };
  const handles = [
    { path: '/own/*', basic_auth, respond },
    { path: '/sites/*', respond },
  ];
  using proxy = await ProxyFixture.start([guarded('staff', { bob: 'outer' }, { handles })]);
  const status = async (path: string, credentials: string) => (await proxy.request(get(path, as(credentials)))).line.slice(9, 12);
  assert.deepEqual([await status('/own/x', 'ann:inner'), await status('/own/x', 'bob:outer')], ['200', '401']);
  assert.deepEqual([await status('/sites/x', 'bob:outer'), await status('/sites/x', 'ann:inner')], ['200', '401']);
  assert.deepEqual([await status('/', 'bob:outer'), await status('/', 'ann:inner')], ['200', '401']);
  assert.equal(field((await proxy.request(get('/own/x'))).head, 'WWW-Authenticate'), 'Basic realm="restricted", charset="UTF-8"');
});

test('a block alone may require a password while the rest of the site is open, and redirects need none', async () => {
  const basic_auth = { users: [{ name: 'ann', hash: hashSync('inner', 4) }] };
  const redirects = [{ from: '/inside/old', to: '/inside/new', status: 301 as const }];
  using proxy = await ProxyFixture.start([guarded('', {}, { basic_auth: null, redirects, handles: [{ path: '/inside/*', basic_auth }] })]);
  const status = async (path: string) => (await proxy.request(get(path))).line.slice(9, 12);
  assert.deepEqual([await status('/'), await status('/inside/x'), await status('/inside/old')], ['200', '401', '301']);
});

test('an unknown user costs as much time as a known one', async () => {
  const compares = new ManualCompares();
  const basic_auth = { users: ['a', 'b'].map((name, at) => ({ name, hash: hashSync('x', 4 + at) })) };
  using proxy = await ProxyFixture.start([guarded('staff', {}, { basic_auth })], [], compares.compare);
  const client = await proxy.connect();
  client.send(get('/', as('nobody:x')));
  await compares.until(1);
  assert.match(compares.begun[0]?.hash ?? '', /^\$2b\$05\$.{53}$/);
  compares.settle(0, false);
  assert.match((await client.readAnswer()).line, / 401 /);
});

for (const path of [
  '/open/../inside/x',
  '/open/..%2finside/x',
  '/open%2F..%2Finside',
  '/open/..\\inside',
  '/inside/..;/open/x',
  '/open/%2e%2e;a=b/inside/x',
  '/%5Cinside/x',
  '/open//../inside/x',
])
  test(`${path} is answered with 400, because an upstream could read it as a guarded path`, async () => {
    const handles = [{ path: '/inside/*', basic_auth: { users: [{ name: 'ann', hash: hashSync('x', 4) }] } }, { path: '/open/*' }];
    using proxy = await ProxyFixture.start([guarded('', {}, { basic_auth: null, handles })]);
    assert.match((await proxy.request(get(path, as('ann:x')))).line, / 400 /);
  });

test('a disguised path is served if all servers interpret it alike, or if nothing is guarded', async () => {
  const handles = [{ path: '/inside/*', basic_auth: { users: [{ name: 'ann', hash: hashSync('x', 4) }] } }, { path: '/open/*' }];
  using proxy = await ProxyFixture.start([
    guarded('', {}, { basic_auth: null, handles }),
    { ...guarded('', {}), domain: 'open.test', basic_auth: null, handles: [{ path: '/inside/*' }] },
  ]);
  for (const path of ['/open/a%2Fb', '/open/a/../b', '/open/a\\b', '/x/y%5cz', '/open/.hidden', '/open/a;b/c'])
    assert.match((await proxy.request(get(path))).line, / 200 /, path);
  assert.match((await proxy.request(get(`/open/${'a/'.repeat(100)}%2Fb`))).line, / 200 /);
  for (const segments of [130, 2_100])
    assert.match((await proxy.request(get(`/open/${'a/'.repeat(segments)}%2Fb`))).line, / 400 /, 'too long to be interpreted');
  assert.match((await proxy.request(get(`/open/${'a/'.repeat(2_100)}b`))).line, / 200 /);
  assert.match((await proxy.request(get('/inside/a%2Fb', as('ann:x')))).line, / 200 /);
  assert.match((await proxy.request(get('/x/..%2finside/y').replace('a.test', 'open.test'))).line, / 200 /);
});

test('a block that refuses requests is a guard too, and one for all remaining paths is not', async () => {
  const refusing = (path: string | null) => ({
    ...guarded('', {}, { basic_auth: null, handles: [{ path: '/open/*' }, { path, respond: { status: 403 } }] }),
  });
  for (const [path, status] of [
    ['/inside/*', ' 400 '],
    [null, ' 200 '],
  ] as const) {
    using proxy = await ProxyFixture.start([refusing(path)]);
    assert.match((await proxy.request(get('/inside/x'))).line, / 403 /);
    assert.match((await proxy.request(get('/open/..%2finside/x'))).line, new RegExp(status));
  }
});

test('a dry run reports that a password is required, and that a path is ambiguous', async () => {
  const handles = [{ path: '/inside/*' }];
  using proxy = await ProxyFixture.start([guarded('staff', { bob: 'x' }, { handles })]);
  const { policies, verdict } = proxy.dryRun('http://a.test/');
  assert.deepEqual(policies[0], { name: 'basic_auth', verdict: 'requires a user and a password: 1 known for "staff"' });
  assert.match(verdict, /^answered by basic_auth: requires/);
  assert.match(proxy.dryRun('http://a.test/x%2F..%2Finside%2Fy').verdict, /^400: /);
});
