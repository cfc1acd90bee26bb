import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settingChanges } from './setting-changes.ts';

test('lists globals that a file changes, removes or adds, but not unchanged ones', () => {
  const running = [
    { name: 'http_port', value: 80, origin: 'default' },
    { name: 'bind', value: '127.0.0.1', origin: 'file' },
    { name: 'drain_timeout', value: '1500ms', origin: 'file' },
    { name: 'email', value: 'a@b.example', origin: 'file' },
  ] as const;
  assert.deepEqual(settingChanges(running, { http_port: 8_080, drain_timeout: 1_500, email: 'a@b.example' }), [
    { name: 'http_port', before: 80, after: 8_080 },
    { name: 'bind', before: '127.0.0.1', after: undefined },
  ]);
});

test('a flag or environment variable takes precedence, so the file changes nothing', () => {
  assert.deepEqual(settingChanges([{ name: 'http_port', value: 80, origin: 'flag' }], { http_port: 8_080 }), []);
  assert.deepEqual(settingChanges([{ name: 'bind', value: null, origin: 'environment' }], { bind: '127.0.0.1' }), []);
});

test('a duration is shown as written in the file', () => {
  assert.deepEqual(settingChanges([{ name: 'drain_timeout', value: '30s', origin: 'default' }], { drain_timeout: 60_000 }), [
    { name: 'drain_timeout', before: '30s', after: '60s' },
  ]);
});
