import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { TemporaryTable } from '../../dataplane/table/testing/temporary-table.ts';
import { missing } from '../components.ts';

const SAVER = fileURLToPath(new URL('../../dataplane/table/testing/saving-process.ts', import.meta.url));
const bundles = mkdtempSync(join(tmpdir(), 'saver-'));
/** In one file: under strace, finding hundreds of them takes longer than what is tested. */
const bundle = join(bundles, 'saver.mjs');
before(() => build({ entryPoints: [SAVER], outfile: bundle, bundle: true, platform: 'node', format: 'esm', logLevel: 'warning' }));
after(() => rmSync(bundles, { recursive: true }));

/** All system calls with which a save and the final checkpoint write to the disk. */
const STEPS = ['pwrite64', 'fdatasync', 'fsync', 'ftruncate', 'unlink'];

type Ended = { readonly printed: readonly string[]; readonly killed: boolean };

/** Starts the saving process, optionally under another program, and reads its output until it ends. `each` may kill it. */
function save(
  command: readonly string[],
  folder: string,
  count: number,
  each: (line: string, kill: () => void) => void = () => undefined,
): Promise<Ended> {
  const [program = '', ...args] = [
    ...command,
    process.execPath,
    bundle,
    folder,
    String(process.hrtime.bigint() / 1_000_000n),
    String(count),
  ];
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    let text = '';
    let read = 0;
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
      for (const line of text.split('\n').slice(read, -1)) {
        read++;
        each(line, () => child.kill('SIGKILL'));
      }
    });
    child
      .once('error', reject)
      .once('close', (_, signal) => resolve({ printed: text.split('\n').slice(0, -1), killed: signal === 'SIGKILL' }));
  });
}

/** After a kill the table is one complete version: the last acknowledged one, or the one being saved. */
async function judge(fixture: TemporaryTable, printed: readonly string[], what: string, savedBefore: boolean): Promise<void> {
  await fixture.restart();
  if (savedBefore) assert.equal(fixture.table.counts().routes, 5, `${what}: an earlier version is gone`);
  const versions = new Set(fixture.table.list().map(({ route }) => route.upstream));
  assert.ok(versions.size <= 1, `${what}: a partial version is there: ${[...versions]}`);
  assert.equal(fixture.log.lines.filter(({ level }) => level === 'error').length, 0, what);
  const last = printed.filter((line) => line !== 'open').at(-1);
  const [found] = versions;
  if (last !== undefined) {
    assert.equal(fixture.table.counts().routes, 5, what);
    const number = Number(found?.split(':')[1]);
    assert.ok(number === Number(last) || number === (Number(last) % 60_000) + 1, `${what}: ${last} was acknowledged, ${found} is there`);
  }
  fixture.close();
}

test('kill -9 at any moment leaves a complete version with every acknowledged change', async () => {
  using fixture = new TemporaryTable();
  for (let round = 0; round < 12; round++) {
    const after = 3 + round * 7;
    let count = 0;
    const { printed, killed } = await save([], fixture.folder, 1_000_000, (_, kill) => {
      if (++count === after) setTimeout(kill, round % 4);
    });
    assert.ok(killed);
    await judge(fixture, printed, `round ${round}`, round > 0);
  }
});

test('kill -9 at any step of a save leaves the version before or after it', async (context) => {
  const reason = missing('strace');
  if (reason !== undefined) return context.skip(reason);
  using fixture = new TemporaryTable();
  await save([], fixture.folder, 1);
  let steps = 0;
  for (const call of STEPS) {
    // strace counts each system call separately.
    for (let step = 1; ; step++) {
      const inject = `inject=${call}:signal=SIGKILL:when=${step}`;
      const strace = ['strace', '-f', '-qq', '-o', '/dev/null', '-e', `trace=${call}`, '-e', inject];
      const { printed, killed } = await save(strace, fixture.folder, 2);
      await judge(fixture, printed, `${call} ${step}`, true);
      if (killed) steps++;
      else break;
    }
  }
  assert.ok(steps >= 12, `it was killed at only ${steps} steps`);
});
