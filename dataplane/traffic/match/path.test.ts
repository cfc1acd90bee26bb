import assert from 'node:assert/strict';
import { test } from 'node:test';
import { normalizedPath } from '../../../shared/values/path.ts';
import { rawPath, sentPrefixLength, withoutPrefix } from './path.ts';
import { compilePattern, remainderOf } from './pattern.ts';

test('paths are compared in their normal form (RFC 3986 6.2.2)', () => {
  const table: [sent: string, compared: string][] = [
    ['/', '/'],
    ['/a/b', '/a/b'],
    ['/%61%2d%7E', '/a-~'],
    ['/%2f%5c%20', '/%2F%5C%20'],
    ['//a///b', '/a/b'],
    ['/a/./b', '/a/b'],
    ['/a/../b', '/b'],
    ['/a/b/..', '/a/'],
    ['/a/b/.', '/a/b/'],
    ['/../../a', '/a'],
    ['/a/%2e%2E/b', '/b'],
    ['/a/.hidden', '/a/.hidden'],
    ['/a/...', '/a/...'],
    ['/%', '/%'],
    ['/%zz', '/%zz'],
    ['/a/', '/a/'],
    ['/..', '/'],
  ];
  for (const [sent, compared] of table) assert.equal(normalizedPath(sent), compared, sent);
});

test('normalizing is idempotent', () => {
  for (const path of ['/%2561', '/a/%252e%252e/b', '//%2e/..//x', '/a%2f..%2fb'])
    assert.equal(normalizedPath(normalizedPath(path)), normalizedPath(path));
});

test('the query is not part of the path', () => {
  assert.equal(rawPath('/a?b=/c'), '/a');
  assert.equal(rawPath('/a'), '/a');
  assert.equal(rawPath('*'), '*');
});

test('a prefix is removed from the path as it was sent', () => {
  const table: [path: string, prefix: string, rest: string][] = [
    ['/api/x', '/api', '/x'],
    ['/api/', '/api', '/'],
    ['/api', '/api', ''],
    ['/%61pi/x%20y', '/api', '/x%20y'],
    ['//api//x', '/api', '//x'],
    ['/b/../api/x', '/api', '/x'],
    ['/api/../api/x', '/api', '/x'],
    ['/api/x/../../../api/y', '/api', '/y'],
    ['/api/a%2Fb/../c', '/api', '/a%2Fb/../c'],
    ['/%61p%69/v%31//x', '/api/v1', '//x'],
    ['/api/.', '/api', '/.'],
    ['/%61pix', '/api', 'x'],
    ['/a%2fb/x', '/a%2Fb', '/x'],
    ['/%61%2Fbc', '/a%2Fb', 'c'],
  ];
  for (const [path, prefix, rest] of table) assert.equal(path.slice(sentPrefixLength(path, prefix)), rest, path);
  for (const other of ['/other', '/%61p', '/ap/i', '/%2Fapi', '/']) assert.equal(sentPrefixLength(other, '/api'), -1, other);
  assert.equal(sentPrefixLength('/%61/b', '/axb'), -1);
});

test('normalizing takes time linear in the length of the path', () => {
  // With quadratic work, so many segments would never finish.
  const path = `${'/a/..'.repeat(200_000)}/%61pi/x`;
  assert.equal(path.slice(sentPrefixLength(path, '/api')), '/x');
});

test('a pattern is normalized before it is compared', () => {
  assert.equal(compilePattern('/%7ebob/%2f*').matches('/~bob/%2Fx'), true);
  assert.equal(compilePattern('/a/.*').matches('/a/.git'), true);
});

test('a pattern matches exactly, or everything below a prefix', () => {
  const below = compilePattern('/api/*');
  assert.deepEqual(
    ['/api/', '/api/x', '/api', '/apix', '/'].map((path) => below.matches(path)),
    [true, true, false, false, false],
  );
  assert.equal(below.prefix, '/api');
  assert.equal(remainderOf(below, '/api/x/y'), 'x/y');
  const exact = compilePattern('/status');
  assert.deepEqual(
    ['/status', '/status/', '/status/x'].map((path) => exact.matches(path)),
    [true, false, false],
  );
  assert.equal(remainderOf(exact, '/status'), '');
  assert.equal(compilePattern('/*').prefix, '');
});

test('stripping a prefix leaves the rest of the target as it was sent', () => {
  for (const [target, sent] of [
    ['/api/a%2Fb?c', '/a%2Fb?c'],
    ['/api/', '/'],
    ['/api', '/'],
    ['/api?b', '/?b'],
    ['/%61pi//x', '//x'],
    ['/other', '/other'],
  ] as const) {
    assert.equal(withoutPrefix(target, '/api', false), sent, target);
  }
});
