import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteInput } from '../../../../shared/route.ts';
import { get, ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { field } from '../../testing/wire.ts';

const limited = (domain: string, rate: number, more: Partial<RouteInput> = {}): RouteInput => ({
  domain,
  upstream: null,
  tls: false,
  rate_limit_rps: rate,
  respond: { status: 200, body: 'in' },
  ...more,
});

/** How many of `count` simultaneous requests are admitted. */
async function admitted(proxy: ProxyFixture, count: number, request: string): Promise<number> {
  const client = await proxy.connect();
  client.send(request.repeat(count));
  let inside = 0;
  for (let nth = 0; nth < count; nth++) if ((await client.readAnswer()).line.includes(' 200 ')) inside++;
  return inside;
}

test('requests over the limit are answered with 429 and Retry-After: 1 until the window has moved on', async () => {
  using proxy = await ProxyFixture.start([limited('a.test', 4)]);
  assert.equal(await admitted(proxy, 6, get()), 4);
  const over = await proxy.request(get());
  assert.match(over.line, /^HTTP\/1\.1 429 Too Many Requests$/);
  assert.equal(field(over.head, 'Retry-After'), '1');
  proxy.clock.pass(850);
  assert.equal(await admitted(proxy, 6, get()), 0);
  proxy.clock.pass(150);
  assert.equal(await admitted(proxy, 1, get()), 1, 'as Retry-After says');
  proxy.clock.pass(125);
  assert.equal(await admitted(proxy, 6, get()), 3);
  proxy.clock.pass(2_000);
  assert.equal(await admitted(proxy, 6, get()), 4);
});

test('each domain has its own limit, and so has each client address behind a trusted proxy', async () => {
  using proxy = await ProxyFixture.start([limited('a.test', 2), limited('b.test', 3)], ['127.0.0.1/32']);
  assert.equal(await admitted(proxy, 5, get()), 2);
  assert.equal(await admitted(proxy, 5, get().replace('a.test', 'b.test')), 3);
  assert.equal(await admitted(proxy, 5, get('/', 'X-Forwarded-For: 203.0.113.1\r\n')), 2);
  assert.equal(await admitted(proxy, 5, get('/', 'X-Forwarded-For: 203.0.113.2\r\n')), 2);
});

test('the hosts of a wildcard share its limit, so that a client gets no other one by making up names', async () => {
  const key = '{client_ip}{host}';
  using proxy = await ProxyFixture.start([limited('*.a.test', 3), limited('*.b.test', 100, { rate_limits: [{ rps: 2, key }] })]);
  const to = (host: string): string => get().replace('a.test', host);
  let inside = 0;
  for (let nth = 0; nth < 6; nth++) inside += await admitted(proxy, 1, to(`${nth}.a.test`));
  assert.equal(inside, 3);
  for (const host of ['one.b.test', 'two.b.test']) assert.equal(await admitted(proxy, 4, to(host)), 2, host);
});

test("a client can't get a limit of its own by claiming another address", async () => {
  using proxy = await ProxyFixture.start([limited('a.test', 2)]);
  let inside = 0;
  for (let nth = 0; nth < 5; nth++) inside += await admitted(proxy, 1, get('/', `X-Forwarded-For: 203.0.113.${nth}\r\n`));
  assert.equal(inside, 2);
});

test('a block’s limit applies in addition to the site’s, for that block only', async () => {
  const respond = { status: 200, body: 'block' };
  using proxy = await ProxyFixture.start([limited('a.test', 6, { handles: [{ path: '/tight/*', rate_limit_rps: 1, respond }] })]);
  assert.equal(await admitted(proxy, 3, get('/tight/x')), 1);
  assert.equal(await admitted(proxy, 9, get('/free')), 3, 'the three before counted for the site');
});

test('a limit survives a change of its route', async () => {
  using proxy = await ProxyFixture.start([limited('a.test', 3)]);
  assert.equal(await admitted(proxy, 5, get()), 3);
  await proxy.publish([limited('a.test', 3, { headers: [{ name: 'X-New', value: '1' }] })]);
  assert.equal(await admitted(proxy, 5, get()), 0);
});

test('an IPv6 /64 is one client whose addresses share one limit, and the next /64 has its own', async () => {
  using proxy = await ProxyFixture.start([limited('a.test', 2)], ['127.0.0.1/32']);
  const from = (address: string) => get('/', `X-Forwarded-For: ${address}\r\n`);
  let inside = 0;
  for (let nth = 0; nth < 20; nth++) inside += await admitted(proxy, 1, from(`2001:db8::${nth}:${nth * 7}:1`));
  assert.equal(inside, 2);
  assert.equal(await admitted(proxy, 5, from('2001:db8:0:1::1')), 2);
});

test('limits per minute and hour say in Retry-After when the next request is admitted', async () => {
  using proxy = await ProxyFixture.start([limited('a.test', 100, { rate_limits: [{ rpm: 3 }, { rph: 5 }] })]);
  assert.equal(await admitted(proxy, 5, get()), 3);
  const seconds = Number(field((await proxy.request(get())).head, 'Retry-After'));
  assert.ok(seconds > 1 && seconds <= 120, `${seconds} s`);
  proxy.clock.pass((seconds - 1) * 1_000);
  assert.equal(await admitted(proxy, 1, get()), 0, 'a second too soon');
  proxy.clock.pass(1_000);
  assert.equal(await admitted(proxy, 1, get()), 1);
  proxy.clock.pass(180_000);
  assert.equal(await admitted(proxy, 5, get()), 1, 'the hour allows five, and four were admitted');
  proxy.clock.pass(180_000);
  assert.ok(Number(field((await proxy.request(get())).head, 'Retry-After')) > 60);
});

test('requests with the same value of a field share a limit, and those without it are limited by address', async () => {
  using proxy = await ProxyFixture.start([limited('a.test', 100, { rate_limits: [{ rpm: 2, header: 'X-Api-Key' }] })]);
  assert.equal(await admitted(proxy, 4, get('/', 'X-Api-Key: one\r\n')), 2);
  assert.equal(await admitted(proxy, 4, get('/', 'x-api-key: two\r\n')), 2);
  assert.equal(await admitted(proxy, 4, get()), 2);
  assert.equal(await admitted(proxy, 4, get('/', 'X-Api-Key: one\r\n')), 0);
});

test('a made-up value beside the one that an upstream may use does not avoid a limit for each value', async () => {
  using proxy = await ProxyFixture.start([limited('a.test', 100, { rate_limits: [{ rpm: 2, header: 'X-Api-Key' }] })]);
  const madeUp = (nth: number): string => get('/', `X-Api-Key: ${nth}\r\nx-api-key: one\r\n`);
  for (const [nth, count] of [1, 1, 0, 0].entries()) assert.equal(await admitted(proxy, 1, madeUp(nth)), count);
});

test('nor does one whose name upstreams confuse with that of the field', async () => {
  for (const limit of [{ header: 'X-Api-Key' }, { key: '{header.X-Api-Key}' }]) {
    using proxy = await ProxyFixture.start([limited('a.test', 100, { rate_limits: [{ rpm: 2, ...limit }] })]);
    const madeUp = (nth: number): string => get('/', `X-Api-Key: ${nth}\r\nX_Api_Key: one\r\n`);
    for (const [nth, count] of [1, 1, 0, 0].entries()) assert.equal(await admitted(proxy, 1, madeUp(nth)), count);
  }
});

test('a made-up value beside the one that an upstream may use does not avoid a limit for each value of a text', async () => {
  for (const [key, madeUp] of [
    ['{header.X-Api-Key}', (nth: number) => get('/', `X-Api-Key: one\r\nX-Api-Key: ${nth}\r\n`)],
    ['{cookie.user}', (nth: number) => get('/', `Cookie: user=${nth}; a=b; user=one\r\n`)],
    ['{cookie.user}', (nth: number) => get('/', `Cookie: user=${nth}\r\nCookie: user=one\r\n`)],
    ['{query.user}', (nth: number) => get(`/?user=${nth}&a=b&%75ser=one`)],
  ] as const) {
    using proxy = await ProxyFixture.start([limited('a.test', 100, { rate_limits: [{ rpm: 2, key }] })]);
    for (const [nth, count] of [1, 1, 0, 0].entries()) assert.equal(await admitted(proxy, 1, madeUp(nth)), count, key);
  }
});

test('requests for which a text has the same value share a limit', async () => {
  using proxy = await ProxyFixture.start(
    [
      limited('a.test', 100, { rate_limits: [{ rpm: 2, key: '{client_ip}{path}' }] }),
      limited('b.test', 100, { rate_limits: [{ rpm: 3, key: 'everyone' }] }),
    ],
    ['127.0.0.1/32'],
  );
  const from = (address: string, path = '/', fields = '') => get(path, `X-Forwarded-For: ${address}\r\n${fields}`);
  assert.equal(await admitted(proxy, 4, from('2001:db8::1', '/a')), 2);
  for (const spelling of ['/%61', '/b/../a', '//a', '/a?x'])
    assert.equal(await admitted(proxy, 1, from('2001:db8::9', spelling)), 0, spelling);
  assert.equal(await admitted(proxy, 4, from('2001:db8::1', '/b')), 2);
  assert.equal(await admitted(proxy, 4, from('2001:db8:0:1::1', '/a')), 2);
  let inside = 0;
  for (let nth = 0; nth < 6; nth++) inside += await admitted(proxy, 1, from(`192.0.2.${nth}`).replace('a.test', 'b.test'));
  assert.equal(inside, 3, 'a text without placeholders counts all clients together');
});

test('a key that a client leaves empty or makes too long counts by address', async () => {
  using proxy = await ProxyFixture.start(
    [limited('a.test', 100, { rate_limits: [{ rpm: 2, key: '{header.X-A}{header.X-B}' }] })],
    ['127.0.0.1/32'],
  );
  const from = (address: string, fields = '') => get('/', `X-Forwarded-For: ${address}\r\n${fields}`);
  assert.equal(await admitted(proxy, 3, from('192.0.2.1')), 2);
  assert.equal(await admitted(proxy, 1, from('192.0.2.1', `X-A: ${'a'.repeat(5_000)}\r\n`)), 0);
  assert.equal(await admitted(proxy, 1, from('192.0.2.1', `X-A: ${'b'.repeat(5_000)}\r\n`)), 0);
  assert.equal(await admitted(proxy, 3, from('192.0.2.1', 'X-A: 192.0.2.2\r\n')), 2, 'a value that looks like an address');
  assert.equal(await admitted(proxy, 3, from('192.0.2.2')), 2, 'is not that address');
});

test('equal limits of a site count a request once each', async () => {
  using proxy = await ProxyFixture.start([limited('a.test', 4, { rate_limits: [{ rps: 4 }, { rps: 3 }] })]);
  assert.equal(await admitted(proxy, 6, get()), 3);
});
