import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import type { Snapshot } from '../source.ts';
import { createFileSource, MISSING_MS, POLL_MS } from './source.ts';
import { gist, site, temporary } from './testing/file-source.ts';
import { type PseudoRandom, pseudoRandom } from './testing/pseudo-random.ts';

/** Each process uses another seed, which is part of the test's name. */
const SEED = Number(process.env.FUZZ_SEED ?? process.pid);
const OPERATIONS = 40;

/** Operations of users, editors, git and kubelets on a tree of config files; some of them fail, as in reality. */
function change(root: string, random: PseudoRandom, count: number): void {
  const at = (name: string) => join(root, name);
  const tree = ['one', 'two'][random(2)] as string;
  const name = ['a', 'b', 'c'][random(3)] as string;
  const file = `${tree}/sites/${name}`;
  const content = random(5) === 0 ? `${name}.example {\n  respond "half` : site(`${name}${count}`);
  const operations = [
    () => writeFileSync(at(file), content),
    () => {
      writeFileSync(at(`${tree}/.tmp`), content);
      renameSync(at(`${tree}/.tmp`), at(file));
    },
    () => rmSync(at(file)),
    () => rmSync(at(`${tree}/sites`), { recursive: true }),
    () => mkdirSync(at(`${tree}/sites`), { recursive: true }),
    () => {
      rmSync(at('next'), { force: true });
      symlinkSync(tree, at('next'));
      renameSync(at('next'), at('current'));
    },
    () => rmSync(at('current')),
    () => writeFileSync(at(`${tree}/Sluicefile`), random(3) === 0 ? `import sites/${name}\n` : `import sites/*\n${site(`main${count}`)}`),
    () => rmSync(at(`${tree}/Sluicefile`)),
  ];
  try {
    operations[random(operations.length)]?.();
  } catch (error) {
    assert.ok(['ENOENT', 'EEXIST', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? ''), String(error));
  }
}

test(`after arbitrary changes the latest snapshot equals the content of the files (FUZZ_SEED=${SEED})`, async (t) => {
  const rounds = Array.from({ length: 4 }, async (_, round) => {
    const random = pseudoRandom(SEED * 7_919 + round);
    const root = await temporary(t);
    for (const tree of ['one', 'two']) {
      mkdirSync(join(root, tree, 'sites'), { recursive: true });
      writeFileSync(join(root, tree, 'Sluicefile'), 'import sites/*\n');
    }
    symlinkSync('one', join(root, 'current'));
    const path = join(root, 'current/Sluicefile');
    const options = { path, clock: systemClock, log: memoryLog(), env: {} };
    const stopping = new AbortController();
    let newest: Snapshot | undefined;
    const running = createFileSource(options).run(stopping.signal, (snapshot) => {
      newest = snapshot;
    });
    for (let count = 0; count < OPERATIONS; count++) {
      change(root, random, count);
      await wait(random(4) === 0 ? random(120) : 0);
    }
    const expected = gist(await createFileSource(options).reload());
    const end = performance.now() + MISSING_MS + POLL_MS + 60_000;
    while ((newest === undefined || gist(newest) !== expected) && performance.now() < end) await wait(20);
    assert.equal(newest && gist(newest), expected, `round ${round}`);
    stopping.abort();
    await running;
  });
  await Promise.all(rounds);
});
