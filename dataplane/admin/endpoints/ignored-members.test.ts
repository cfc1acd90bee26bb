import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RouteInput, readRoute } from '../../../shared/route.ts';
import { RunningAdmin } from '../testing/running-admin.ts';
import { ignoredMembers } from './ignored-members.ts';

const ROUTE = { domain: 'a.example', upstream: '127.0.0.1:3000', tls: false };

test('unknown members of a route are listed in the response and in the log, and the response is still 201', async () => {
  await using api = await RunningAdmin.start();
  const odd = { ...ROUTE, colour: 'red', shade: ['10.0.0.0/8'], handles: [{ path: '/x', basic_atuh: { users: [] } }], origin: 'me' };
  const reply = await api.post(odd);
  const named = 'colour, shade, handles.0.basic_atuh, origin';
  assert.deepEqual([reply.status, reply.headers['sluice-ignored']], [201, named]);
  assert.deepEqual(
    api.log.lines.filter(({ level }) => level === 'warn').map(({ message, ...line }) => [message, line.fields]),
    [['ignored unknown members of a posted route', { domain: 'a.example', ignored: named }]],
  );
});

test('a route with only known members is answered without that header field', async () => {
  await using api = await RunningAdmin.start();
  const full: RouteInput = {
    ...ROUTE,
    tls: true,
    rate_limit_rps: 5,
    rate_limits: [{ rps: 1, match: { path: ['/a'], not: [{ method: ['GET'] }] } }],
    upstreams: [{ address: '127.0.0.1:3000', weight: 2, state: 'healthy' }, { address: '127.0.0.1:3001' }],
    transport: { protocol: 'h2', insecure: true },
    lb_policy: { policy: 'header', name: 'X-User' },
    headers: [{ name: 'X-A', value: null, match: { header: [{ name: 'a', values: [] }] } }],
    redirects: [{ from: '/a', to: '/b', status: 308 }],
    responds: [{ status: 403, match: { remote_ip: ['10.0.0.1/8'] } }],
    handles: [{ path: '/x', respond: { status: 200 } }],
    health: { path: '/up' },
  };
  const reply = await api.post(full);
  assert.deepEqual([reply.status, reply.headers['sluice-ignored']], [201, undefined], reply.text);
});

test('names with line ends, long names and many names are made safe for a header', async () => {
  await using api = await RunningAdmin.start();
  const many = Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`m${at}`, 1]));
  const reply = await api.post({ ...ROUTE, 'a\r\nX-Evil: 1': 1, 'ü, b': 1, '': 1, ['x'.repeat(5_000)]: 1, ...many });
  assert.equal(reply.status, 201);
  const names = `${reply.headers['sluice-ignored']}`.split(', ');
  assert.deepEqual(names.slice(0, 4), ['a??X-Evil??1', '???b', '?', `${'x'.repeat(64)}?`]);
  assert.deepEqual([names.length, names.at(-1), reply.headers['x-evil']], [21, 'and 2984 more', undefined]);
});

test('a member with the name of an object property such as toString is ignored like any other', () => {
  const asked = JSON.parse('{"domain":"a.example","upstream":"a:1","tls":false,"__proto__":1,"constructor":1}') as object;
  const read = readRoute(asked);
  assert.ok('route' in read);
  assert.deepEqual(ignoredMembers(asked, read.route), ['__proto__', 'constructor']);
});
