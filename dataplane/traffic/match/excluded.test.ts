import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAppliedRoute } from '../../../shared/route.ts';
import { compileExcluded } from './excluded.ts';

const compile = (analytics: unknown, more: object = {}) => {
  const result = readAppliedRoute({ domain: 'a.test', upstream: '127.0.0.1:1', tls: false, analytics, ...more } as never);
  if ('problem' in result) throw new Error(result.problem.reason);
  return compileExcluded(result.route);
};

test('a site without exclusions has nothing to check', () => {
  for (const analytics of [undefined, null, true, {}]) assert.equal(compile(analytics), null);
});

test('addresses, ranges and path patterns are excluded', () => {
  const excluded = compile({ exclude: ['203.0.113.7', '10.0.0.0/8', '2001:db8::/32', '/admin/*', '/health'] });
  assert.ok(excluded);
  const cases: [string, string, boolean][] = [
    ['203.0.113.7', '/', true],
    ['203.0.113.8', '/', false],
    ['10.9.8.7', '/', true],
    ['::ffff:10.9.8.7', '/', true],
    ['2001:db8::1', '/', true],
    ['2001:db9::1', '/', false],
    ['198.51.100.1', '/admin/users', true],
    ['198.51.100.1', '/admin', false],
    ['198.51.100.1', '/health', true],
    ['198.51.100.1', '/healthy', false],
  ];
  // The second time the result for the address is remembered.
  for (const [address, path, expected] of [...cases, ...cases]) assert.equal(excluded(address, path), expected, `${address} ${path}`);
});

test("excluded paths follow the site's path_case", () => {
  assert.equal(compile({ exclude: ['/Admin/*'] })?.('192.0.2.1', '/admin/x'), false);
  assert.equal(compile({ exclude: ['/Admin/*'] }, { path_case: 'insensitive' })?.('192.0.2.1', '/aDmin/x'), true);
});

test('addresses are distinguished even if there are more than are remembered', () => {
  const excluded = compile({ exclude: ['10.0.0.0/16'] });
  for (let round = 0; round < 2; round++)
    for (let at = 0; at < 5_000; at++) {
      const rest = `${at >> 8}.${at & 255}`;
      assert.equal(excluded?.(`10.0.${rest}`, '/'), true);
      assert.equal(excluded?.(`10.1.${rest}`, '/'), false);
    }
});
