import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { releaseMemoryWhenIdle } from './idle-memory.ts';
import { ManualClock } from './testing/manual-clock.ts';

const MB = 1_048_576;
const PERIOD_MS = 10_000;

/** A thread whose heap and processor time a test sets; a release leaves 10 MB. */
function thread() {
  const clock = new ManualClock();
  const state = { used: 0, heap: 20 * MB, external: MB, inUse: MB, releases: 0 };
  const stop = releaseMemoryWhenIdle(clock, {
    usedMs: () => state.used,
    heapBytes: () => state.heap,
    externalBytes: () => state.external,
    release: () => {
      state.releases++;
      state.heap = 10 * MB;
      state.external = state.inUse;
    },
  });
  /** Lets periods pass in each of which the thread uses `busy` ms. */
  const pass = (periods: number, busy = 0): number => {
    for (let period = 0; period < periods; period++) {
      state.used += busy;
      clock.pass(PERIOD_MS);
    }
    return state.releases;
  };
  return { state, pass, stop };
}

test('a thread that has started and waits releases memory once', () => {
  const { pass } = thread();
  assert.equal(pass(1), 1);
  assert.equal(pass(600), 1);
});

test('a busy thread releases nothing until it is idle for a whole period', () => {
  const { pass } = thread();
  assert.equal(pass(100, 101), 0);
  assert.equal(pass(1, 100), 1);
});

test('a heap that has grown again is released ten minutes later at the earliest', () => {
  const { state, pass } = thread();
  pass(1);
  state.heap = 13 * MB;
  assert.equal(pass(59), 1);
  assert.equal(pass(1), 2);
});

test('so are buffers, although the heap itself has not grown', () => {
  const { state, pass } = thread();
  pass(1);
  state.external = 100 * MB;
  assert.equal(pass(59), 1);
  assert.equal(pass(1), 2);
  assert.equal(pass(600), 2);
});

test('buffers that were in use during a collection are collected ten minutes later', () => {
  const { state, pass } = thread();
  pass(1);
  state.external = 100 * MB;
  state.inUse = 100 * MB;
  assert.equal(pass(60), 2);
  state.inUse = MB;
  assert.equal(pass(60), 3);
  assert.equal(state.external, MB);
});

test('buffers that were in use during one collection are collected also after others turned out to be kept', () => {
  const { state, pass } = thread();
  pass(1);
  state.external = state.inUse = 30 * MB;
  assert.equal(pass(600), 4);
  state.external = state.inUse = 100 * MB;
  pass(60);
  state.inUse = 30 * MB;
  pass(60);
  assert.equal(state.external, 30 * MB);
});

test('buffers that a thread keeps for good are collected in vain three times', () => {
  const { state, pass } = thread();
  pass(1);
  state.external = 100 * MB;
  state.inUse = 100 * MB;
  assert.equal(pass(600), 4);
});

test('a heap that is too large to be collected in a short time is left alone', () => {
  const { state, pass } = thread();
  state.heap = 65 * MB;
  assert.equal(pass(100), 0);
});

test('after it is stopped, nothing is released', () => {
  const { pass, stop } = thread();
  stop();
  assert.equal(pass(100), 0);
});

test('the garbage of a thread is collected', async () => {
  const code = `
    import { getHeapStatistics } from 'node:v8';
    import { releaseMemoryWhenIdle } from ${JSON.stringify(new URL('./idle-memory.ts', import.meta.url).href)};
    const size = () => getHeapStatistics().total_physical_size;
    let garbage = Array.from({ length: 500_000 }, (_, index) => ({ index }));
    const filled = size();
    garbage = null;
    let look;
    releaseMemoryWhenIdle({ every: (_, task) => { look = task; }, monotonic: () => 0 });
    const waiting = setInterval(() => {
      look();
      if (size() > filled / 2) return;
      clearInterval(waiting);
      console.log('released');
    }, 10);
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code]);
  assert.equal(stdout, 'released\n');
});
