import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { systemClock } from '../../../../shared/runtime/clock.ts';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../../shared/runtime/testing/memory-log.ts';
import { HookProvider } from './hook-provider.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hook-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function hook(script: string, clock = systemClock): { hook: HookProvider; log: ReturnType<typeof memoryLog> } {
  const path = join(folder, 'hook');
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  const log = memoryLog();
  return { hook: new HookProvider({ path, clock, log }), log };
}

test('the hook runs with the action, name and value as arguments, without a shell, and with a minimal environment', async () => {
  process.env.SLUICE_ADMIN_TOKEN = 'a secret';
  try {
    const { hook: program } = hook(`printf '%s|' "$@" >>${folder}/calls; env >${folder}/environment`);
    await program.add('_acme-challenge.a.test', '-$(id) ;x');
    await program.remove('_acme-challenge.a.test', 'v');
    assert.equal(readFileSync(join(folder, 'calls'), 'utf8'), 'present|_acme-challenge.a.test|-$(id) ;x|cleanup|_acme-challenge.a.test|v|');
    const environment = readFileSync(join(folder, 'environment'), 'utf8');
    assert.match(environment, /^PATH=/m);
    assert.doesNotMatch(environment, /SLUICE/);
  } finally {
    delete process.env.SLUICE_ADMIN_TOKEN;
  }
});

test('the hook runs one at a time', async () => {
  const { hook: program } = hook(`echo begin >>${folder}/calls; sleep 0.05; echo end >>${folder}/calls`);
  await Promise.all([program.add('a', '1'), program.add('a', '2'), program.remove('a', '1')]);
  assert.equal(readFileSync(join(folder, 'calls'), 'utf8'), 'begin\nend\n'.repeat(3));
});

test('the output of a failed hook is logged, up to 4,096 characters', async () => {
  const { hook: program, log } = hook('head -c 100000 /dev/zero | tr "\\0" x; echo; echo "no such zone" >&2; exit 3');
  await assert.rejects(program.add('a.test', 'v'), /hook present a\.test\) ended with exit code 3: no such zone$/);
  assert.ok(JSON.stringify(log.lines).length < 6_000);
  const { hook: missing } = hook('exit 0');
  rmSync(join(folder, 'hook'));
  await assert.rejects(missing.add('a.test', 'v'), /can't be run/);
});

test('the hook and its children are killed after two minutes', async () => {
  const clock = new ManualClock();
  const { hook: program } = hook(`touch ${folder}/started; sleep 600 & echo $! >${folder}/child; wait`, clock);
  const run = assert.rejects(program.add('a.test', 'v'), /took longer than 120 s/);
  while (!existsSync(join(folder, 'child'))) await new Promise((resolve) => setTimeout(resolve, 5));
  clock.pass(120_000);
  await run;
  const child = Number(readFileSync(join(folder, 'child'), 'utf8'));
  const ended = (): boolean => {
    try {
      // A process that has not been reaped yet is a zombie.
      return / Z /.test(readFileSync(`/proc/${child}/stat`, 'utf8'));
    } catch {
      return true;
    }
  };
  for (const end = performance.now() + 60_000; !ended(); ) {
    assert.ok(performance.now() < end, 'its child still runs');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
});
