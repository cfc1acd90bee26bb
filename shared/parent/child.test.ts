import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ToParent } from '../runtime/process/parent.ts';
import { type Child, startChild } from './child.ts';

/** A launcher that runs `code` with Node. */
function launcher(t: TestContext, code: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'child-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'child.cjs'), code);
  const path = join(folder, 'launcher');
  writeFileSync(path, `#!/bin/sh\nexec ${process.execPath} ${join(folder, 'child.cjs')} "$@"\n`, { mode: 0o755 });
  return path;
}

/** Starts a child and waits for it to exit. */
function played(path: string, argv: readonly string[], heard: (message: ToParent, child: Child) => void = () => undefined) {
  return new Promise<{ code: number; err: string; words: string; pid: number }>((resolve) => {
    let err = '';
    const child = startChild(
      { launcher: path, argv },
      {
        received: (message) => heard(message, child),
        ended: (code) => resolve({ code, err, words: child.lastWords, pid: child.pid }),
      },
      (text) => {
        err += text;
      },
    );
  });
}

test('a child knows its parent and its launcher, and receives the outcome of its request', async (t) => {
  const path = launcher(
    t,
    `process.on('message', ({ reason }) => { process.stderr.write([reason, process.env.SLUICE_PARENT, process.env.SLUICE_LAUNCHER, process.env.SLUICE_V8_THREADS, process.env.NOTIFY_SOCKET].join()); process.exit(3); });
     process.send({ kind: 'upgrade', launcher: process.argv[2] });`,
  );
  process.env.NOTIFY_SOCKET = '/none';
  t.after(() => delete process.env.NOTIFY_SOCKET);
  const { code, err, words } = await played(path, ['next'], (message, child) => {
    assert.deepEqual(message, { kind: 'upgrade', launcher: 'next' });
    child.send({ kind: 'not-upgraded', reason: 'no' });
  });
  assert.deepEqual([code, err, words], [3, `no,${process.pid},${path},${Math.min(4, availableParallelism())},`, err]);
});

test('a killed child has the exit code that a shell gives it, even if its own child keeps stderr open', async (t) => {
  const path = launcher(
    t,
    "require('node:child_process').spawn('sleep', ['3'], { stdio: 'inherit', detached: true }); process.send({ kind: 'handed-over' });",
  );
  const { code } = await played(path, [], (_, child) => child.signal('SIGKILL'));
  assert.equal(code, 137);
});

test('a missing launcher or an invalid path is reported as an exit, with the reason on stderr', async () => {
  for (const [path, why] of [
    ['/nowhere/sluice', /ENOENT/],
    ['', /cannot be empty/],
  ] as const) {
    const { code, words, err, pid } = await played(path, []);
    assert.deepEqual([code, pid, err], [127, 0, words]);
    assert.match(words, why);
  }
});
