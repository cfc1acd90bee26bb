import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PROGRAM = fileURLToPath(new URL('../../dataplane/traffic/testing/processes/hostile-traffic.ts', import.meta.url));
const EXCHANGES = 300;
const run = promisify(execFile);

for (const seed of [1, 2]) {
  test(`hostile HTTP/2 upstreams and clients end no worker and leak nothing (seed ${seed})`, async () => {
    const { stdout } = await run(process.execPath, ['--expose-gc', PROGRAM, `${seed}`, `${EXCHANGES}`]);
    assert.ok(Number(stdout) > 0, stdout);
  });
}
