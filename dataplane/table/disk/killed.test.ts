import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { missing } from '../../../e2e/components.ts';
import { TemporaryTable } from '../testing/temporary-table.ts';

const SAVER = fileURLToPath(new URL('../testing/saving-process.ts', import.meta.url));
/** Every call by which a save, and the checkpoint at the end, reach the disk. */
const STEPS = ['pwrite64', 'fdatasync', 'fsync', 'ftruncate', 'unlink'];

type Ended = { readonly said: readonly string[]; readonly killed: boolean };

/** Starts the saving process, perhaps under another program, and reads its output until it ends. `each` may kill it. */
function save(
  command: readonly string[],
  folder: string,
  count: number,
  each: (line: string, kill: () => void) => void = () => undefined,
): Promise<Ended> {
  const [program = '', ...args] = [
    ...command,
    process.execPath,
    SAVER,
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
      .once('close', (_, signal) => resolve({ said: text.split('\n').slice(0, -1), killed: signal === 'SIGKILL' }));
  });
}

/** After a kill the table is one whole version: the last that was acknowledged, or the one that was under way. */
async function judge(fixture: TemporaryTable, said: readonly string[], what: string, savedBefore: boolean): Promise<void> {
  await fixture.restart();
  if (savedBefore) assert.equal(fixture.table.counts().routes, 5, `${what}: an earlier version is gone`);
  const versions = new Set(fixture.table.list().map(({ route }) => route.upstream));
  assert.ok(versions.size <= 1, `${what}: half of a version is there: ${[...versions]}`);
  assert.equal(fixture.log.lines.filter(({ level }) => level === 'error').length, 0, what);
  const last = said.filter((line) => line !== 'open').at(-1);
  const [found] = versions;
  if (last !== undefined) {
    assert.equal(fixture.table.counts().routes, 5, what);
    const number = Number(found?.split(':')[1]);
    assert.ok(number === Number(last) || number === (Number(last) % 60_000) + 1, `${what}: ${last} was acknowledged, ${found} is there`);
  }
  fixture.close();
}

test('kill -9 at any moment of a busy table leaves one whole version, and all that was acknowledged', { timeout: 60_000 }, async () => {
  using fixture = new TemporaryTable();
  for (let round = 0; round < 12; round++) {
    const after = 3 + round * 7;
    let count = 0;
    const { said, killed } = await save([], fixture.folder, 1_000_000, (_, kill) => {
      if (++count === after) setTimeout(kill, round % 4);
    });
    assert.ok(killed);
    await judge(fixture, said, `round ${round}`, round > 0);
  }
});

test('kill -9 at every step of a save leaves the version before it or after it', { timeout: 110_000 }, async (context) => {
  const reason = missing('strace');
  if (reason !== undefined) return context.skip(reason);
  using fixture = new TemporaryTable();
  await save([], fixture.folder, 1);
  let steps = 0;
  for (const call of STEPS) {
    // strace counts each call apart from the others.
    for (let step = 1; ; step++) {
      const inject = `inject=${call}:signal=SIGKILL:when=${step}`;
      const strace = ['strace', '-f', '-qq', '-o', '/dev/null', '-e', `trace=${call}`, '-e', inject];
      const { said, killed } = await save(strace, fixture.folder, 2);
      await judge(fixture, said, `${call} ${step}`, true);
      if (killed) steps++;
      else break;
    }
  }
  assert.ok(steps >= 12, `it was killed at ${steps} steps only`);
});
