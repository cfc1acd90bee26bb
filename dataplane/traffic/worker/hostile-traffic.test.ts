import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PROGRAM = fileURLToPath(new URL('../testing/hostile-traffic.ts', import.meta.url));
const EXCHANGES = 300;
const run = promisify(execFile);

/** The library holds assertions in native code: where one fails there is no error to catch, and the process is gone. */
for (const seed of [1, 2]) {
  test(`hostile targets and clients of HTTP/2 end no worker, and leave nothing behind (seed ${seed})`, async () => {
    const { stdout } = await run(process.execPath, ['--expose-gc', PROGRAM, `${seed}`, `${EXCHANGES}`]);
    assert.ok(Number(stdout) > 0, stdout);
  });
}
