import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOPS_FIELD } from '../../../shared/name.ts';
import type { Cidr } from '../../../shared/values/cidr.ts';
import { get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field } from '../testing/wire.ts';

/** The field values that the upstream receives if the proxy trusts these ranges. */
async function fieldsAtUpstream(trusted: readonly string[], fields: string): Promise<(name: string) => string | null> {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.start([site('a.test', upstream)], trusted);
  await proxy.request(get('/', fields));
  const head = upstream.requests[0]?.head ?? '';
  return (name) => field(head, name);
}

test('the upstream receives the address, scheme, host and id of the request', async () => {
  const upstreamField = await fieldsAtUpstream([], '');
  assert.equal(upstreamField('X-Forwarded-For'), '127.0.0.1');
  assert.equal(upstreamField('X-Real-IP'), '127.0.0.1');
  assert.equal(upstreamField('X-Forwarded-Proto'), 'http');
  assert.equal(upstreamField('X-Forwarded-Host'), 'a.test');
  assert.match(upstreamField('X-Request-ID') ?? '', /^[0-9a-f]{24}$/);
});

test('each request of a connection, and its response, has its own values, not those of one before', async () => {
  using upstream = await UpstreamFixture.serving(({ head }) => {
    const type = field(head, 'User-Agent') ?? 'none';
    return `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nContent-Length: ${type.length}\r\n\r\n${type}`;
  });
  using proxy = await ProxyFixture.start([site('a.test', upstream), site('b.test', upstream)]);
  const client = await proxy.connect();
  const ids = new Set<string | null>();
  const requests = ['a.test', 'a.test', 'A.test', 'b.test:80', 'b.test', 'a.test', 'b.test', 'b.test'];
  for (const [nth, host] of requests.entries()) {
    const agent = nth === 4 ? '' : `agent/${nth >> 1}`;
    const hops = nth === 5 ? `${HOPS_FIELD}: 3\r\n` : '';
    client.send(`GET /${nth} HTTP/1.1\r\nHost: ${host}\r\n${agent === '' ? '' : `User-Agent: ${agent}\r\n`}${hops}\r\n`);
    const { head: answer, body } = await client.readAnswer();
    const head = upstream.requests[nth]?.head ?? '';
    const at = (name: string): string | null => field(head, name);
    const values = [at('Host'), at('X-Forwarded-Host'), at('User-Agent'), at(HOPS_FIELD), field(answer, 'Content-Type'), body];
    assert.deepEqual(values, [host, host, agent || null, hops === '' ? '1' : '4', agent || 'none', agent || 'none']);
    ids.add(at('X-Request-ID'));
  }
  assert.equal(ids.size, requests.length);
});

test("a client can't forge these fields in any spelling", async () => {
  const claims = ['X-Forwarded-For', 'X-Real-IP', 'X-Forwarded-Proto', 'X-Forwarded-Host', 'X-Request-ID'];
  const lines = claims.flatMap((name) => [`${name}: claimed`, `${name.replaceAll('-', '_').toLowerCase()}: claimed`, `${name}: twice`]);
  const upstreamField = await fieldsAtUpstream(
    ['10.0.0.0/8'],
    `${lines.join('\r\n')}\r\nForwarded: for=claimed\r\nProxy: claimed\r\nTransfer_Encoding: chunked\r\n`,
  );
  for (const name of claims) {
    assert.doesNotMatch(upstreamField(name) ?? 'claimed', /claimed|twice/, name);
    assert.equal(upstreamField(name.replaceAll('-', '_')), null, name);
  }
  for (const name of ['Proxy', 'Transfer_Encoding']) assert.equal(upstreamField(name), null, name);
});

/** Fields that a trusted proxy may send besides those that we set. */
const VOUCHED = [
  'X-Forwarded-Port',
  'X-Forwarded-Prefix',
  'X-Forwarded-Client-Cert',
  'X-Forwarded-User',
  'Client-Cert',
  'Client-Cert-Chain',
  'CF-Connecting-IP',
  'True-Client-IP',
  'X-Client-IP',
  'X-Cluster-Client-IP',
];
/** Fields that are never accepted from anyone. */
const CLAIMS = [
  'Forwarded',
  'Front-End-Https',
  'X-Forwarded-By',
  'X-Forwarded-Protocol',
  'X-Forwarded-Scheme',
  'X-Forwarded-Server',
  'X-Forwarded-Ssl',
  'X-HTTP-Host-Override',
  'X-Original-Host',
  'X-Original-URI',
  'X-Original-URL',
  'X-Rewrite-URL',
  'X-Scheme',
  'X-Url-Scheme',
];
const spellings = (name: string) => [name, name.toLowerCase(), ...['_', '.', '~'].map((fold) => name.replaceAll('-', fold))];

test('fields that only proxies set are dropped from an untrusted sender in any spelling', async () => {
  const names = [...VOUCHED, ...CLAIMS].flatMap(spellings);
  for (const some of [names.slice(0, 60), names.slice(60)]) {
    const upstreamField = await fieldsAtUpstream(['10.0.0.0/8'], some.map((name) => `${name}: claimed\r\n`).join(''));
    for (const name of some) assert.equal(upstreamField(name), null, name);
  }
});

test('fields that a trusted proxy sets about its client are forwarded, except those that could contradict ours or affect routing', async () => {
  const line = (name: string) => `${name}: said\r\n`;
  const upstreamField = await fieldsAtUpstream(
    ['127.0.0.1'],
    `${[...VOUCHED, ...CLAIMS].map(line).join('')}Connection: X-Forwarded-Prefix\r\n`,
  );
  for (const name of VOUCHED) assert.equal(upstreamField(name), 'said', name);
  for (const name of CLAIMS) assert.equal(upstreamField(name), null, name);
  const folded = [...VOUCHED, ...CLAIMS].filter((name) => name.includes('-')).map((name) => name.replaceAll('-', '_'));
  const foldedField = await fieldsAtUpstream(['127.0.0.1'], folded.map(line).join(''));
  for (const name of folded) assert.equal(foldedField(name), null, name);
});

test('fields that applications define themselves are forwarded from any sender', async () => {
  const names = ['X-HTTP-Method-Override', 'X-Requested-With', 'X_Anything', 'X.Y', 'X-Frame-Options', 'User_Agent'];
  const upstreamField = await fieldsAtUpstream([], names.map((name) => `${name}: used\r\n`).join(''));
  for (const name of names) assert.equal(upstreamField(name), 'used', name);
});

test("Connection can't remove the fields that we add for the upstream", async () => {
  const upstreamField = await fieldsAtUpstream(
    [],
    'Connection: X-Forwarded-For, X-Real-IP, Host, Cookie, Authorization\r\nCookie: a=b\r\nAuthorization: Basic x\r\n',
  );
  for (const name of ['X-Forwarded-For', 'X-Real-IP', 'Host', 'Cookie', 'Authorization']) assert.notEqual(upstreamField(name), null, name);
});

test('the scheme, host and id that a trusted proxy sends are kept', async () => {
  const upstreamField = await fieldsAtUpstream(
    ['127.0.0.0/8'],
    'X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: public.test\r\nX-Request-ID: abc-1\r\n',
  );
  assert.equal(upstreamField('X-Forwarded-For'), '192.0.2.7, 127.0.0.1');
  assert.equal(upstreamField('X-Real-IP'), '192.0.2.7');
  assert.equal(upstreamField('X-Forwarded-Proto'), 'https');
  assert.equal(upstreamField('X-Forwarded-Host'), 'public.test');
  assert.equal(upstreamField('X-Request-ID'), 'abc-1');
});

for (const [chain, client] of [
  ['198.51.100.1, 192.0.2.7, 10.0.0.1', '192.0.2.7'],
  ['192.0.2.7:4711, 10.0.0.1', '192.0.2.7'],
  ['[2001:db8::7]:4711, 10.0.0.1', '2001:db8::7'],
  ['10.0.0.2, 10.0.0.1', '10.0.0.2'],
  ['192.0.2.7, unknown', '127.0.0.1'],
  ['192.0.2.7, unknown, 10.0.0.1', '10.0.0.1'],
  ['', '127.0.0.1'],
  [',192.0.2.7,, ,10.0.0.1,', '192.0.2.7'],
  ['192.0.2.7,10.0.0.1:443', '192.0.2.7'],
  ['198.51.100.1, 2001:DB8:0:0::7', '2001:db8::7'],
  ['198.51.100.1, [::ffff:192.0.2.7]:4711', '192.0.2.7'],
  ['198.51.100.1, ::FFFF:c000:207', '192.0.2.7'],
  ['192.0.2.7, ::ffff:10.0.0.1', '192.0.2.7'],
  ['192.0.2.7, [2001:db8:ffff::1]', '192.0.2.7'],
  ['192.0.2.7, 10.0.0.999', '127.0.0.1'],
  ['192.0.2.7, [10.0.0.1]', '127.0.0.1'],
  ['192.0.2.7, fe80::1%eth0', '127.0.0.1'],
  ['192.0.2.7, [::1', '127.0.0.1'],
  ['192.0.2.7, "10.0.0.1"', '127.0.0.1'],
  ['192.0.2.7, 10.0.0.1:http', '127.0.0.1'],
  ['192.0.2.7, for=10.0.0.1', '127.0.0.1'],
] as const)
  test(`the client of the chain "${chain}", read from the right, is ${client}`, async () => {
    const upstreamField = await fieldsAtUpstream(['127.0.0.1', '10.0.0.0/8', '2001:db8:ffff::/48'], `X-Forwarded-For: ${chain}\r\n`);
    assert.equal(upstreamField('X-Real-IP'), client);
  });

test('a chain may span several lines, and an invalid scheme is ignored', async () => {
  const upstreamField = await fieldsAtUpstream(
    ['127.0.0.1'],
    'X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-For: 192.0.2.2\r\nX-Forwarded-Proto: gopher\r\n',
  );
  assert.equal(upstreamField('X-Forwarded-For'), '192.0.2.1, 192.0.2.2, 127.0.0.1');
  assert.equal(upstreamField('X-Real-IP'), '192.0.2.2');
  assert.equal(upstreamField('X-Forwarded-Proto'), 'http');
});

test('a chain as long as a head allows is examined for 64 hops and forwarded whole', async () => {
  const chain = `192.0.2.7${',10.0.0.1'.repeat(1_500)}`;
  const upstreamField = await fieldsAtUpstream(['127.0.0.1', '10.0.0.0/8'], `X-Forwarded-For: ${chain}\r\n`);
  assert.equal(upstreamField('X-Real-IP'), '10.0.0.1');
  assert.equal(upstreamField('X-Forwarded-For'), `${chain}, 127.0.0.1`);
});

for (const [claimed, scheme] of [
  ['https', 'https'],
  ['HTTPS', 'https'],
  ['http, https', 'https'],
  ['https,http', 'http'],
  ['https\r\nX-Forwarded-Proto: http', 'http'],
  ['https, wss', 'http'],
  ['', 'http'],
] as const)
  test(`of the schemes ${JSON.stringify(claimed)} the nearest proxy's is used: ${scheme}`, async () => {
    const upstreamField = await fieldsAtUpstream(['127.0.0.1'], `X-Forwarded-Proto: ${claimed}\r\n`);
    assert.equal(upstreamField('X-Forwarded-Proto'), scheme);
  });

test('Forwarded is dropped from every sender, so no upstream can trust a forged one (RFC 7239 8.1)', async () => {
  for (const trusted of [[], ['127.0.0.1']]) {
    const upstreamField = await fieldsAtUpstream(
      trusted,
      'Forwarded: for=192.0.2.7;proto=https;host=lie.test\r\nfORWARDED: for=192.0.2.8\r\n',
    );
    assert.equal(upstreamField('Forwarded'), null);
  }
});

test('a trusted proxy that does not name its client is treated as the client', async () => {
  const upstreamField = await fieldsAtUpstream(['127.0.0.1'], 'X-Real-IP: 192.0.2.7\r\n');
  assert.deepEqual([upstreamField('X-Forwarded-For'), upstreamField('X-Real-IP')], ['127.0.0.1', '127.0.0.1']);
  assert.match(upstreamField('X-Request-ID') ?? '', /^[0-9a-f]{24}$/);
});

test('an id that is too long or empty is replaced, also from a trusted proxy', async () => {
  for (const id of ['', 'x'.repeat(129)])
    assert.match((await fieldsAtUpstream(['127.0.0.1'], `X-Request-ID: ${id}\r\n`))('X-Request-ID') ?? '', /^[0-9a-f]{24}$/);
  assert.equal((await fieldsAtUpstream(['127.0.0.1'], `X-Request-ID: ${'x'.repeat(128)}\r\n`))('X-Request-ID'), 'x'.repeat(128));
});

test('a change of the trusted proxies applies to an open connection from its next request on', async () => {
  using upstream = await UpstreamFixture.serving((request) => ok(field(request.head, 'X-Real-IP') ?? ''));
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  const real = async () => {
    client.send(get('/', 'X-Forwarded-For: 192.0.2.7\r\n'));
    return (await client.readAnswer()).body;
  };
  assert.equal(await real(), '127.0.0.1');
  await proxy.configure({ trustedProxies: ['127.0.0.1' as Cidr] });
  assert.equal(await real(), '192.0.2.7');
  await proxy.configure({ trustedProxies: [] });
  assert.equal(await real(), '127.0.0.1');
});

test('behind a trusted proxy the rate limit applies to each client, not to the proxy', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.start([{ ...site('a.test', upstream), rate_limit_rps: 1 }], ['127.0.0.1']);
  const status = async (client: string) => (await proxy.request(get('/', `X-Forwarded-For: ${client}\r\n`))).line.slice(9, 12);
  assert.deepEqual([await status('192.0.2.1'), await status('192.0.2.2'), await status('192.0.2.1')], ['200', '200', '429']);
});
