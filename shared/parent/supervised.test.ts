import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../runtime/clock.ts';
import { systemRandom } from '../runtime/random.ts';
import { until } from '../runtime/testing/until.ts';
import { startChild } from './child.ts';
import { Supervised } from './supervised.ts';

/** A child that runs `code` and writes a line for each start. */
function child(t: TestContext, code: string, more: { readonly mustServe?: boolean } = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'supervisor-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const starts = join(directory, 'starts');
  const script = join(directory, 'child.cjs');
  writeFileSync(starts, '');
  writeFileSync(
    script,
    `const { appendFileSync, readFileSync } = require('node:fs');\nappendFileSync(${JSON.stringify(starts)}, process.pid + '\\n');\nconst starts = readFileSync(${JSON.stringify(starts)}, 'utf8').split('\\n').length - 1;\n${code}\n`,
  );
  const launcher = join(directory, 'launcher');
  writeFileSync(launcher, `#!/bin/sh\nexec ${process.execPath} ${script}\n`, { mode: 0o755 });
  let text = '';
  const reports: string[] = [];
  const supervised = new Supervised(
    { name: 'dataplane', launch: () => ({ launcher, argv: [], env: { EXAMPLE: 'yes' } }), ...more },
    {
      clock: systemClock,
      random: systemRandom,
      report: (_, message) => reports.push(message),
      start: (launch, events) =>
        startChild(launch, events, (more) => {
          text += more;
        }),
    },
  );
  const pids = () => readFileSync(starts, 'utf8').trim().split('\n').filter(Boolean).map(Number);
  return { supervised, pids, reports, err: () => text };
}

test('a first start with a usage error is not repeated, and its message is passed on', async (t) => {
  const { supervised, pids, err } = child(t, "process.stderr.write('unknown flag'); process.exitCode = 2;");
  assert.equal(await supervised.run(), 2);
  assert.deepEqual([pids().length, err()], [1, 'unknown flag']);
});

test('a crashed child is restarted, and the restart is logged', async (t) => {
  const { supervised, pids, reports } = child(t, 'if (starts < 3) process.exit(1); setInterval(() => 0, 1000);');
  const done = supervised.run();
  await until('the third start', () => pids().length === 3);
  supervised.stop();
  assert.equal(await done, 0);
  assert.deepEqual(reports, Array(2).fill('the dataplane exited and is being restarted'));
});

test('a killed child is restarted', async (t) => {
  const { supervised, pids } = child(t, 'setInterval(() => 0, 1000);');
  const done = supervised.run();
  await until('the first start', () => pids().length === 1);
  process.kill(pids()[0] as number, 'SIGKILL');
  await until('the second start', () => pids().length === 2);
  supervised.stop();
  assert.equal(await done, 0);
});

test('exit code 2 of a later start is treated as a crash', async (t) => {
  const { supervised, pids } = child(
    t,
    'if (starts === 1) process.exit(1); if (starts === 2) process.exit(2); setInterval(() => 0, 1000);',
  );
  const done = supervised.run();
  await until('the third start', () => pids().length === 3);
  supervised.stop();
  assert.equal(await done, 0);
});

test('stopping waits for the child to exit by itself', async (t) => {
  const { supervised, pids, err } = child(
    t,
    "process.on('SIGTERM', () => setTimeout(() => { process.stderr.write('drained'); process.exit(0); }, 50)); setInterval(() => 0, 1000); process.stderr.write('up, ');",
  );
  const done = supervised.run();
  await until('what it writes', () => err() === 'up, ');
  supervised.stop();
  assert.equal(await done, 0);
  assert.deepEqual([pids().length, err()], [1, 'up, drained']);
});

test('a child knows that it is supervised, and its stdin ends with the supervisor', async (t) => {
  const { supervised, err } = child(
    t,
    "process.stderr.write(process.env.SLUICE_SUPERVISED + process.env.EXAMPLE); process.stdin.resume().on('end', () => process.exit(0)); process.exitCode = 2; setTimeout(() => process.exit(2), 50);",
  );
  assert.equal(await supervised.run(), 2);
  assert.equal(err(), '1yes');
});

test('a child that must serve is not restarted if it exits before it first serves, but is afterwards', async (t) => {
  const never = child(t, 'process.abort();', { mustServe: true });
  assert.equal(await never.supervised.run(), 134);
  assert.equal(never.pids().length, 1);
  const quiet = child(t, '', { mustServe: true });
  assert.equal(await quiet.supervised.run(), 1, 'ending without an error is a failure, too');
  const once = child(t, "process.send({ kind: 'serving', version: '1' }); setTimeout(() => process.exit(1), 20);", { mustServe: true });
  const done = once.supervised.run();
  await until('the second start', () => once.pids().length === 2);
  once.supervised.stop();
  assert.equal(await done, 0);
});
