import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isForwarded } from './forwarded-paths.ts';

test('forwards the page and what it requests', () => {
  for (const path of [
    '/dashboard/',
    '/events',
    '/routes',
    '/history',
    '/analytics',
    '/analytics/shop.example',
    '/analytics/shop.example/history',
    '/analytics/*.shop.example/history',
    '/analytics/%2A.shop.example/history',
    '/analytics/%5B%3A%3A1%5D',
  ])
    assert.ok(isForwarded(path), path);
});

test('refuses every other path of the Admin API, and every other spelling of a path', () => {
  for (const path of [
    '',
    '/',
    '/dashboard',
    '/dashboard/x',
    '/metrics',
    '/certificates/root',
    '/cache/a/b',
    '/reload',
    '/routes/',
    '/routes/shop.example',
    '/Routes',
    '//routes',
    '/./routes',
    '/dashboard/../metrics',
    '/analytics/',
    '/analytics/..',
    '/analytics/../metrics',
    '/analytics/../history',
    '/analytics/%2e%2e/history',
    '/analytics/%2E%2E',
    '/analytics/a%2f..%2f..%2fmetrics',
    '/analytics/a%5c..',
    '/analytics/a%252f..',
    '/analytics/a%00',
    '/analytics/a%0d%0aX',
    '/analytics/%zz',
    '/analytics/a%ff',
    '/analytics/a/b/history',
    '/analytics/a;b',
    '/analytics/a\\b',
    'http://127.0.0.1/routes',
  ])
    assert.ok(!isForwarded(path), path);
});
