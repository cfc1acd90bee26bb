import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { memoryLog } from '../../../../shared/runtime/log.ts';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import type { Challenge } from '../challenges/challenge.ts';
import { Dns01Solver } from './dns01-solver.ts';

const challenge = (name: string, keyAuthorization: string): Challenge => ({ type: 'dns-01', name, token: 't', keyAuthorization });
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A zone that the test looks into. */
class Scene {
  readonly folder = mkdtempSync(join(tmpdir(), 'dns-challenges-'));
  readonly clock = new ManualClock();
  readonly log = memoryLog();
  readonly zone = new Set<string>();
  /** Whether what is in the zone can be seen. */
  isPublic = true;
  broken = false;

  start(): Dns01Solver {
    const change = async (task: () => void): Promise<void> => {
      if (this.broken) throw new Error('no way');
      task();
    };
    return new Dns01Solver({
      provider: {
        add: (name, value) => change(() => this.zone.add(`${name} ${value}`)),
        remove: (name, value) => change(() => this.zone.delete(`${name} ${value}`)),
      },
      propagation: {
        resolveAlias: async (name) => name.replace('b.test', 'checks.test'),
        hasPropagated: async (name, value) => this.isPublic && this.zone.has(`${name} ${value}`),
      },
      stateDir: this.folder,
      clock: this.clock,
      log: this.log,
    });
  }

  /** Lets time pass until something is there. */
  async until(done: () => boolean): Promise<void> {
    for (const end = performance.now() + 5_000; !done(); ) {
      assert.ok(performance.now() < end);
      this.clock.pass(1_000);
      await turn();
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, maxRetries: 10 });
  }
}

test('a record stands where the name points to, beside others, as long as its check takes', async () => {
  using scene = new Scene();
  const board = scene.start();
  await Promise.all([
    board.present(challenge('a.test', 'one')),
    board.present(challenge('a.test', 'two')),
    board.present(challenge('b.test', 'one more')),
  ]);
  assert.deepEqual([...scene.zone].sort(), [
    '_acme-challenge.a.test one',
    '_acme-challenge.a.test two',
    '_acme-challenge.checks.test one more',
  ]);
  board.cleanUp(challenge('a.test', 'one'));
  await turn();
  assert.equal(scene.zone.size, 2);
});

test('it is waited for until it is public, for two minutes', async () => {
  using scene = new Scene();
  const board = scene.start();
  scene.isPublic = false;
  let over = false;
  const first = board.present(challenge('a.test', 'one')).then(() => {
    over = true;
  });
  for (let seconds = 0; seconds < 60; seconds++) {
    scene.clock.pass(1_000);
    await turn();
  }
  assert.equal(over, false);
  scene.isPublic = true;
  await scene.until(() => over);
  await first;
  scene.isPublic = false;
  const never = assert.rejects(board.present(challenge('a.test', 'two')), /_acme-challenge\.a\.test is not public after 120 s/).then(() => {
    over = false;
  });
  await scene.until(() => !over);
  await never;
});

test('what a crash leaves, or could not be removed, the next start removes', async () => {
  using scene = new Scene();
  await scene.start().present(challenge('a.test', 'one'));
  const file = join(scene.folder, 'dns-challenges.json');
  await scene.until(() => existsSync(file) && readFileSync(file, 'utf8').includes('one'));
  scene.broken = true;
  scene.start();
  await turn();
  assert.equal(scene.log.lines.at(-1)?.level, 'warn');
  assert.equal(scene.zone.size, 1);
  scene.broken = false;
  scene.start();
  await scene.until(() => scene.zone.size === 0);
});
