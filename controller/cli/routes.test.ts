import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRoute, type RouteInput } from '../../shared/route.ts';
import { notesOn } from './routes.ts';

const USERS = { users: [{ name: 'ann', hash: `$2b$10$${'a'.repeat(53)}` }] };

function noted(members: Partial<RouteInput>): string {
  const parsed = parseRoute({ domain: 'a.test', upstream: '127.0.0.1:1', tls: false, ...members });
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return notesOn({ ...parsed.value, controller: null, overrides: null, since: '' }).join(', ');
}

test('the notes of a route name its limits and protections', () => {
  assert.equal(noted({}), '');
  assert.equal(noted({ rate_limit_rps: 5, basic_auth: USERS, ip_filter: { allow: ['10.0.0.0/8'] } }), '5/s, password, addresses');
});

test('the notes of a route name the ports that it is limited to', () => {
  assert.equal(noted({ ports: [8080, 8443], rate_limit_rps: 5 }), 'only on port 8080, 8443, 5/s');
});

test('notes that apply only inside a block are marked as such', () => {
  assert.equal(noted({ handles: [{ path: '/a/*', basic_auth: USERS }] }), '1 path block, password in a block');
  assert.equal(noted({ basic_auth: USERS, handles: [{ path: '/a/*', basic_auth: USERS }] }), '1 path block, password');
});
