import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startId } from './start-id.ts';

const BOOT = '3f0c9a52-7c1e-4a52-9d0f-1a2b3c4d5e6f';

/** What the kernel says in a container whose first process has this name and start. */
function withProc(use: (proc: string) => void, { namespace = 'pid:[4026532741]', name = 'node', start = '71234' } = {}): void {
  const proc = mkdtempSync(join(tmpdir(), 'proc-'));
  try {
    for (const folder of ['sys/kernel/random', 'self/ns', '1']) mkdirSync(join(proc, folder), { recursive: true });
    writeFileSync(join(proc, 'sys/kernel/random/boot_id'), `${BOOT}\n`);
    symlinkSync(namespace, join(proc, 'self/ns/pid'));
    writeFileSync(join(proc, '1/stat'), `1 (${name}) S 0 1 1 0 -1 4194560 5 6 7 8 9 10 11 12 20 0 11 0 ${start} 1245184 1530\n`);
    use(proc);
  } finally {
    rmSync(proc, { recursive: true });
  }
}

test('a container that was started again counts as a machine that was, also if the name of its first process looks like the fields after it', () => {
  withProc((proc) => assert.equal(startId({ proc, env: {} }), `${BOOT} 71234`));
  withProc((proc) => assert.equal(startId({ proc, env: {} }), `${BOOT} 99999`), { start: '99999', name: 'a) S 1 (b' });
});

test('outside a container, and in a pod, whose address outlasts its containers, only the machine counts', () => {
  withProc((proc) => assert.equal(startId({ proc, env: {} }), BOOT), { namespace: 'pid:[4026531836]' });
  withProc((proc) => assert.equal(startId({ proc, env: { KUBERNETES_SERVICE_HOST: '10.96.0.1' } }), BOOT));
});

test('without a start of the machine there is none', () => {
  assert.equal(startId({ proc: '/nowhere', env: {} }), null);
});

test('a first process that can’t be looked at leaves the start of the machine', () => {
  withProc((proc) => {
    rmSync(join(proc, '1'), { recursive: true });
    assert.equal(startId({ proc, env: {} }), BOOT);
  });
});
