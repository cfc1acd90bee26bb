import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { tcpMigrationAdvice } from './tcp-migration.ts';

test('a system that resets queued connections of closed listeners gets advice with the command to change that', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-queues-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'tcp_migrate_req');
  writeFileSync(path, '0\n');
  assert.match(tcpMigrationAdvice(path).join('\n'), /tcp_migrate_req is 0.*sysctl -w net\.ipv4\.tcp_migrate_req=1$/);
  writeFileSync(path, '1\n');
  assert.deepEqual(tcpMigrationAdvice(path), []);
});

test('a system without the sysctl gets no advice', () => {
  assert.deepEqual(tcpMigrationAdvice('/nowhere/tcp_migrate_req'), []);
});
