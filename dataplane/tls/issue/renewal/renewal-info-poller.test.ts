import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../../shared/runtime/testing/memory-log.ts';
import { type RenewalInfo, RenewalInfoError } from './renewal-info-client.ts';
import { type PolledCertificate, RenewalInfoPoller } from './renewal-info-poller.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const WINDOW = { start: 1_000, end: 2_000 };
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A poller with an authority controlled by the test, on a manual clock. */
class Scene {
  readonly folder = mkdtempSync(join(tmpdir(), 'renewal-advice-'));
  readonly clock = new ManualClock();
  readonly subjects = new Map<string, PolledCertificate>();
  readonly asked: string[] = [];
  readonly changed: string[] = [];
  open: ((answer: RenewalInfo | null | Error) => void)[] = [];
  /** The immediate response; undefined if the test responds later. */
  answer: RenewalInfo | null | Error | undefined = { window: WINDOW, explanation: null, retryAfterMs: 6 * HOUR };
  advice = this.start();

  /** Simulates a restart of the process. */
  start(): RenewalInfoPoller {
    return new RenewalInfoPoller({
      clock: this.clock,
      log: memoryLog(),
      stateDir: this.folder,
      certificate: (name) => this.subjects.get(name) ?? null,
      ariIdOf: async (name) => `key.of-${name}`,
      fetch: (id) => {
        this.asked.push(id);
        return new Promise((resolve, reject) => {
          const settle = (answer: RenewalInfo | null | Error): void => (answer instanceof Error ? reject(answer) : resolve(answer));
          if (this.answer === undefined) this.open.push(settle);
          else settle(this.answer);
        });
      },
      changed: (name) => this.changed.push(name),
    });
  }

  hold(name: string, serial = '01', ariId: string | null = `key.${serial}`): void {
    this.subjects.set(name, { serial, ariId });
  }

  /** Advances the clock in small steps and runs what is due. */
  async pass(ms: number, step = 50): Promise<void> {
    for (let gone = 0; gone < ms; gone += step) {
      this.clock.pass(Math.min(step, ms - gone));
      await turn();
    }
  }

  async saved(): Promise<void> {
    const before = performance.now();
    this.clock.pass(10_000);
    for (;;) {
      try {
        if (readFileSync(join(this.folder, 'renewals.json'), 'utf8').length > 0) return;
      } catch (error) {
        if (performance.now() - before > 60_000) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  [Symbol.dispose](): void {
    // A write may still be in progress.
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 5 });
  }
}

describe('a certificate', () => {
  test('is polled once, and again when the authority says', async () => {
    using scene = new Scene();
    scene.hold('a.test');
    scene.advice.setNames(['a.test']);
    await scene.pass(HOUR, MINUTE);
    assert.deepEqual(scene.asked, ['key.01']);
    assert.deepEqual(scene.advice.get('a.test', '01'), { window: WINDOW, ariId: 'key.01' });
    assert.deepEqual(scene.changed, ['a.test']);
    await scene.pass(6 * HOUR, MINUTE);
    assert.equal(scene.asked.length, 2);
    assert.deepEqual(scene.changed, ['a.test'], 'the window is the same');
    scene.answer = { window: { start: 5, end: 6 }, explanation: null, retryAfterMs: HOUR };
    await scene.pass(6 * HOUR, MINUTE);
    assert.deepEqual(scene.changed, ['a.test', 'a.test']);
    assert.deepEqual(scene.advice.get('a.test', '01')?.window, { start: 5, end: 6 });
  });

  test('that is new does not inherit the old window, and is polled immediately', async () => {
    using scene = new Scene();
    scene.hold('a.test');
    scene.advice.setNames(['a.test']);
    await scene.pass(100);
    scene.answer = undefined;
    scene.hold('a.test', '02');
    scene.advice.certificateChanged('a.test');
    await scene.pass(100);
    assert.deepEqual(scene.asked, ['key.01', 'key.02']);
    assert.equal(scene.advice.get('a.test', '02'), null);
  });

  test('that is replaced during a poll is polled next', async () => {
    using scene = new Scene();
    scene.answer = undefined;
    scene.hold('a.test');
    scene.advice.setNames(['a.test']);
    scene.hold('a.test', '02');
    scene.advice.certificateChanged('a.test');
    scene.open[0]?.({ window: WINDOW, explanation: null, retryAfterMs: HOUR });
    await scene.pass(100);
    assert.deepEqual(scene.asked, ['key.01', 'key.02']);
    assert.equal(scene.advice.get('a.test', '02'), null);
  });

  test('without a CertID gets one', async () => {
    using scene = new Scene();
    scene.hold('a.test', '01', null);
    scene.advice.setNames(['a.test']);
    await scene.pass(100);
    assert.deepEqual(scene.asked, ['key.of-a.test']);
    assert.equal(scene.advice.get('a.test', '01')?.ariId, 'key.of-a.test');
  });

  test('that has no authority to query, or is no longer wanted, is not polled', async () => {
    using scene = new Scene();
    scene.hold('b.test');
    scene.advice.setNames(['a.test', 'b.test']);
    await scene.pass(100);
    scene.advice.setNames([]);
    await scene.pass(7 * HOUR, MINUTE);
    assert.deepEqual(scene.asked, ['key.01']);
    assert.equal(scene.advice.get('b.test', '01'), null);
  });
});

describe('an authority', () => {
  test('that does not respond is polled again after 1, 5 and 20 minutes, an hour and six hours, and its last window is kept', async () => {
    using scene = new Scene();
    scene.hold('a.test');
    scene.advice.setNames(['a.test']);
    await scene.pass(100);
    scene.answer = new Error('503');
    await scene.pass(6 * HOUR, MINUTE);
    const at: number[] = [];
    for (let minutes = 0; minutes < 20 * 60; minutes++) {
      const { length } = scene.asked;
      await scene.pass(MINUTE, MINUTE);
      if (scene.asked.length > length) at.push(minutes + 1);
    }
    const apart = at.map((minute, nth) => minute - (at[nth - 1] ?? 0));
    assert.deepEqual(apart, [1, 5, 20, 60, 360, 360, 360]);
    assert.deepEqual(scene.advice.get('a.test', '01')?.window, WINDOW);
  });

  test('that sends Retry-After is not polled until then', async () => {
    using scene = new Scene();
    scene.answer = new RenewalInfoError('503', 2 * HOUR);
    scene.hold('a.test');
    scene.advice.setNames(['a.test']);
    await scene.pass(2 * HOUR - MINUTE, MINUTE);
    assert.equal(scene.asked.length, 1);
    await scene.pass(2 * MINUTE, MINUTE);
    assert.equal(scene.asked.length, 2);
  });

  test('without ARI is queried again a day later', async () => {
    using scene = new Scene();
    scene.answer = null;
    scene.hold('a.test');
    scene.advice.setNames(['a.test']);
    await scene.pass(23 * HOUR, HOUR);
    assert.equal(scene.asked.length, 1);
    await scene.pass(2 * HOUR, HOUR);
    assert.equal(scene.asked.length, 2);
    assert.deepEqual([scene.advice.get('a.test', '01'), scene.changed], [null, []]);
  });

  test('is not polled again because of a restart, and its last window is kept', async () => {
    using scene = new Scene();
    scene.hold('a.test');
    scene.advice.setNames(['a.test']);
    await scene.pass(100);
    await scene.saved();
    scene.advice.pause();
    scene.clock.pass(HOUR);
    const again = scene.start();
    again.setNames([]);
    again.setNames(['a.test']);
    await scene.pass(100);
    assert.equal(scene.asked.length, 1);
    assert.deepEqual(again.get('a.test', '01')?.window, WINDOW);
    await scene.pass(5 * HOUR, MINUTE);
    assert.equal(scene.asked.length, 2);
  });
});

describe('a start with 1,000 certificates', () => {
  const names = Array.from({ length: 1_000 }, (_, at) => `site-${at}.test`);

  test('polls a few at a time, with a pause in between', async () => {
    using scene = new Scene();
    scene.answer = undefined;
    for (const [at, name] of names.entries()) scene.hold(name, `${at}`);
    scene.advice.setNames(names);
    assert.equal(scene.asked.length, 1);
    await scene.pass(5_000);
    assert.equal(scene.asked.length, 4, 'the authority takes its time');
    scene.answer = { window: WINDOW, explanation: null, retryAfterMs: 6 * HOUR };
    for (const settle of scene.open) settle(scene.answer);
    await scene.pass(1_000);
    assert.ok(scene.asked.length >= 20 && scene.asked.length <= 26, `${scene.asked.length} within a second`);
  });

  test('has polled each of them once a minute later', async () => {
    using scene = new Scene();
    for (const [at, name] of names.entries()) scene.hold(name, `${at}`);
    scene.advice.setNames(names);
    await scene.pass(MINUTE);
    assert.equal(scene.asked.length, 1_000);
    assert.equal(new Set(scene.asked).size, 1_000);
  });
});
