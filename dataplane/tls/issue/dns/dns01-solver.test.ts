import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../../shared/runtime/testing/memory-log.ts';
import type { Challenge } from '../challenges/challenge.ts';
import { Dns01Solver } from './dns01-solver.ts';

const challenge = (name: string, keyAuthorization: string): Challenge => ({ type: 'dns-01', name, token: 't', keyAuthorization });
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A zone that the test can inspect. */
class Scene {
  readonly folder = mkdtempSync(join(tmpdir(), 'dns-challenges-'));
  readonly clock = new ManualClock();
  readonly log = memoryLog();
  readonly zone = new Set<string>();
  /** Whether the records in the zone are publicly visible. */
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

  /** Advances the clock until a condition holds. */
  async until(done: () => boolean): Promise<void> {
    for (const end = performance.now() + 60_000; !done(); ) {
      assert.ok(performance.now() < end);
      this.clock.pass(1_000);
      await turn();
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, maxRetries: 10 });
  }
}

test('a record exists at the alias target, beside other records, while its challenge is pending', async () => {
  using scene = new Scene();
  const solver = scene.start();
  await Promise.all([
    solver.present(challenge('a.test', 'one')),
    solver.present(challenge('a.test', 'two')),
    solver.present(challenge('b.test', 'one more')),
  ]);
  assert.deepEqual([...scene.zone].sort(), [
    '_acme-challenge.a.test one',
    '_acme-challenge.a.test two',
    '_acme-challenge.checks.test one more',
  ]);
  solver.cleanUp(challenge('a.test', 'one'));
  await turn();
  assert.equal(scene.zone.size, 2);
});

test('waits up to two minutes for the record to become public', async () => {
  using scene = new Scene();
  const solver = scene.start();
  scene.isPublic = false;
  let over = false;
  const first = solver.present(challenge('a.test', 'one')).then(() => {
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
  const never = assert
    .rejects(solver.present(challenge('a.test', 'two')), /_acme-challenge\.a\.test is not public after 120 s/)
    .then(() => {
      over = false;
    });
  await scene.until(() => !over);
  await never;
});

test('records left by a crash or a failed removal are removed at the next start', async () => {
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

test('a process that takes over leaves the records of orders in progress alone, and the other one removes them', async () => {
  using scene = new Scene();
  const old = scene.start();
  await old.present(challenge('a.test', 'one'));
  await old.handOver();
  const next = scene.start();
  await turn();
  assert.deepEqual([...scene.zone], ['_acme-challenge.a.test one']);
  old.cleanUp(challenge('a.test', 'one'));
  await turn();
  assert.equal(scene.zone.size, 0);
  await next.release();
});

test('if a process does not take over after all, the records of orders in progress are known again', async () => {
  using scene = new Scene();
  const solver = scene.start();
  await solver.present(challenge('a.test', 'one'));
  await solver.handOver();
  solver.reclaim();
  await solver.release();
  scene.start();
  await turn();
  assert.equal(scene.zone.size, 0);
});
