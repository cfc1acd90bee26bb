import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PROGRAM = fileURLToPath(new URL('../../dataplane/traffic/testing/processes/torn-heads.ts', import.meta.url));
const COUNT = 6;
const run = promisify(execFile);

const STUCK = 'resets its connection in the middle of a head, while a write to it is blocked,';
const IDLE = 'disconnects in the middle of a head';
const CASES = [
  ['target', 'stuck', `a target that ${STUCK}`],
  ['target', 'left', `a target that ${STUCK} and has timed out,`],
  ['target', 'idle', `a target that ${IDLE}`],
  ['client', 'stuck', `a client that ${STUCK}`],
  ['client', 'idle', `a client that ${IDLE}`],
  ['secure-client', 'stuck', `a client over TLS that ${STUCK}`],
  ['secure-client', 'idle', `a client over TLS that ${IDLE}`],
] as const;

for (const [who, write, name] of CASES)
  test(`${name} ends no worker, and its session and stream are freed`, async () => {
    const { stdout } = await run(process.execPath, ['--expose-gc', PROGRAM, who, write, `${COUNT}`]);
    assert.equal(stdout, `${COUNT} closed, 0 left\n`);
  });
