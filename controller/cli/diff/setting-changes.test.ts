import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settingChanges } from './setting-changes.ts';

test('a global that a file changes, drops or brings is named; one that is the same is not', () => {
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

test('a flag or a variable wins over the file, so the file changes nothing', () => {
  assert.deepEqual(settingChanges([{ name: 'http_port', value: 80, origin: 'flag' }], { http_port: 8_080 }), []);
  assert.deepEqual(settingChanges([{ name: 'bind', value: null, origin: 'environment' }], { bind: '127.0.0.1' }), []);
});

test('a duration is shown as it is written', () => {
  assert.deepEqual(settingChanges([{ name: 'drain_timeout', value: '30s', origin: 'default' }], { drain_timeout: 60_000 }), [
    { name: 'drain_timeout', before: '30s', after: '60s' },
  ]);
});
