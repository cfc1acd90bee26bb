import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { beginRead, type Clock, endRead, sleep, systemClock } from './clock.ts';

/** A clock that fires timers only when the test says so. */
function stoppedClock() {
  const tasks = new Set<() => void>();
  const after: Clock['after'] = (_ms, task) => {
    tasks.add(task);
    return () => tasks.delete(task);
  };
  return { clock: { ...systemClock, after }, tasks };
}

describe('sleep', () => {
  it('ends when its time has passed', async () => {
    const { clock, tasks } = stoppedClock();
    let awake = false;
    const sleeping = sleep(clock, 1_000).then(() => {
      awake = true;
    });
    await Promise.resolve();
    assert.equal(awake, false);
    for (const wake of tasks) wake();
    await sleeping;
    assert.equal(awake, true);
  });

  it('ends at once when it is aborted, before or while it sleeps, and leaves no timer', async () => {
    const { clock, tasks } = stoppedClock();
    await sleep(clock, 1_000, AbortSignal.abort());
    const abort = new AbortController();
    const sleeping = sleep(clock, 1_000, abort.signal);
    assert.equal(tasks.size, 1);
    abort.abort();
    await sleeping;
    assert.equal(tasks.size, 0);
  });
});

describe('the system clock', () => {
  it('has the same monotonic time in all threads', async () => {
    const source = `import(${JSON.stringify(new URL('./clock.ts', import.meta.url).href)}).then(({ systemClock }) => require('node:worker_threads').parentPort.postMessage(systemClock.monotonic()))`;
    const before = systemClock.monotonic();
    const worker = new Worker(source, { eval: true });
    const there = await new Promise<number>((resolve, reject) => worker.once('message', resolve).once('error', reject));
    await worker.terminate();
    assert.ok(before <= there && there <= systemClock.monotonic(), `${before} <= ${there}`);
  });

  it('runs a task once after a delay, or repeatedly until it is stopped', async () => {
    const alive = setInterval(() => undefined, 1_000);
    await new Promise<void>((resolve) => systemClock.after(1, resolve));
    let runs = 0;
    await new Promise<void>((resolve) => {
      const stop = systemClock.every(1, () => {
        runs++;
        if (runs < 3) return;
        stop();
        resolve();
      });
    });
    let late = false;
    systemClock.after(1, () => {
      late = true;
    })();
    await new Promise<void>((resolve) => systemClock.after(10, resolve));
    clearInterval(alive);
    assert.deepEqual([runs, late], [3, false]);
  });
});

describe('the monotonic clock', () => {
  /** Waits until Node's own clock shows another time. */
  const waitABit = (): void => {
    for (const begun = performance.now(); performance.now() === begun; );
  };

  it('stands still during a read once it has been read, and is then as late as without it', () => {
    const before = systemClock.monotonic();
    waitABit();
    beginRead();
    const during = systemClock.monotonic();
    waitABit();
    assert.equal(systemClock.monotonic(), during);
    assert.ok(during > before);
    endRead();
    assert.ok(systemClock.monotonic() > during);
  });
});
