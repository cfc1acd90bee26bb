import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteInput } from '../../../shared/route.ts';
import { get, ProxyFixture } from '../testing/proxy/test-proxy.ts';

const says = (body: string) => ({ respond: { status: 200, body } });
const users = [{ name: 'bob', hash: '$2b$04$abcdefghijklmnopqrstuuGZ9YlYc0Y1vYV1cKzY8Wc2jYQ7mU7ga' }];

/** The statuses of requests with these methods. */
async function statusesOf(more: Partial<RouteInput>, methods: readonly string[]): Promise<string[]> {
  using proxy = await ProxyFixture.with([{ domain: 'a.test', upstream: null, tls: false, ...says('rest'), ...more }], {});
  const statuses: string[] = [];
  for (const method of methods) statuses.push((await proxy.request(get().replace('GET', method))).line.slice(9, 12));
  return statuses;
}

test('a method in lower case, which many frameworks take for the usual one, evades no rule about methods', async () => {
  const deletes = { method: ['DELETE'] };
  const refusing = { responds: [{ status: 405, body: '', match: deletes }] };
  assert.deepEqual(await statusesOf(refusing, ['DELETE', 'delete', 'Delete', 'GET', 'get', 'M-SEARCH']), [
    '405',
    '400',
    '400',
    '200',
    '400',
    '200',
  ]);
  const others = { responds: [{ status: 405, body: '', match: { not: [{ method: ['GET'] }] } }] };
  assert.deepEqual(await statusesOf(others, ['GET', 'POST', 'post']), ['200', '405', '400']);
  const block = { handles: [{ path: null, match: deletes, basic_auth: { users }, ...says('deleted') }] };
  assert.deepEqual(await statusesOf(block, ['DELETE', 'delete', 'GET']), ['401', '400', '200']);
  const limited = { rate_limits: [{ rph: 1, match: { method: ['POST'] } }] };
  assert.deepEqual(await statusesOf(limited, ['POST', 'POST', 'post', 'GET']), ['200', '429', '400', '200']);
  const maintained = (on: boolean) => ({ maintenance: { on, match: { method: ['POST', 'PATCH'] } } });
  assert.deepEqual(await statusesOf(maintained(true), ['PATCH', 'patch', 'GET']), ['503', '400', '200']);
  assert.deepEqual(await statusesOf({ handles: [{ path: '/', ...maintained(true), ...says('block') }] }, ['patch', 'GET']), ['400', '200']);
  assert.deepEqual(await statusesOf(maintained(false), ['patch', 'GET']), ['200', '200']);
});

test('nor does it evade the maintenance of a block for some methods, or that of a site from which such a block is exempt', async () => {
  const writes = { method: ['POST', 'PATCH'] };
  const closed = (on: boolean) => ({ handles: [{ path: null, match: writes, maintenance: { on } }] });
  assert.deepEqual(await statusesOf(closed(true), ['PATCH', 'patch', 'GET']), ['503', '400', '200']);
  assert.deepEqual(await statusesOf(closed(false), ['PATCH', 'patch', 'GET']), ['200', '200', '200']);
  const reads = { path: null, match: { not: [writes] }, maintenance: { on: false } };
  assert.deepEqual(await statusesOf({ maintenance: { on: true }, handles: [reads] }, ['PATCH', 'patch', 'GET']), ['503', '400', '200']);
  assert.deepEqual(await statusesOf({ maintenance: { on: false }, handles: [reads] }, ['PATCH', 'patch', 'GET']), ['200', '200', '200']);
});

test('it is forwarded as it was sent where no rule is about methods', async () => {
  assert.deepEqual(await statusesOf({}, ['delete', 'GET']), ['200', '200']);
  const header = { headers: [{ name: 'X-A', value: 'b', match: { method: ['PUT'] } }] };
  assert.deepEqual(await statusesOf(header, ['put', 'PUT']), ['200', '200']);
  assert.deepEqual(await statusesOf({ basic_auth: { users } }, ['put']), ['401']);
});
