import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { LineRing, LineRings } from '../ledger/line-ring.ts';
import { type Outcome, SpanExporter } from './span-exporter.ts';

const DELIVERED: Outcome = { kind: 'delivered', rejected: 0, reason: '' };
const away = (afterMs: number | null = null): Outcome => ({ kind: 'retry', reason: 'away', afterMs });

/** An exporter whose collector answers each request as the test says, DELIVERED by default. */
class Scene {
  readonly clock = new ManualClock();
  readonly sent: string[] = [];
  readonly reported: (string | null)[] = [];
  readonly answers: Outcome[] = [];
  readonly rings: LineRings;
  readonly exporter: SpanExporter;
  private readonly ring: LineRing;

  constructor() {
    const buffer = LineRing.buffer(2);
    this.ring = new LineRing(buffer, 1);
    this.rings = new LineRings(buffer);
    this.exporter = new SpanExporter({
      clock: this.clock,
      rings: this.rings,
      envelope: ['[', ']'],
      send: async (body) => {
        this.sent.push(body);
        return this.answers.shift() ?? DELIVERED;
      },
      report: (failure) => this.reported.push(failure),
    });
  }

  async after(ms: number, ...texts: readonly string[]): Promise<void> {
    for (const text of texts) assert.ok(this.ring.push(2, text, 2));
    await this.exporter.turn();
    this.clock.pass(ms);
    await this.exporter.turn();
  }
}

test('spans are gathered for a second and sent together', async () => {
  const scene = new Scene();
  await scene.after(999, 'a', 'b');
  assert.deepEqual(scene.sent, []);
  await scene.after(1, 'c');
  assert.deepEqual(scene.sent, ['[a,b,c]']);
  await scene.after(10_000);
  assert.equal(scene.sent.length, 1);
  assert.equal(scene.exporter.busy, false);
});

test('many spans are sent at once, in batches of about half a megabyte', async () => {
  const scene = new Scene();
  const text = 'x'.repeat(100_000);
  for (let round = 0; round < 2; round++) await scene.after(0, text, text, text, text, text, text, text);
  assert.deepEqual(
    scene.sent.map(({ length }) => length),
    [600_007, 600_007],
  );
  await scene.after(1_000);
  assert.equal(scene.sent.length, 3);
});

test('an unavailable collector gets the same batch again, after longer and longer pauses', async () => {
  const scene = new Scene();
  scene.answers.push(away(), away(), away());
  await scene.after(1_000, 'a');
  for (const [pause, count] of [
    [999, 1],
    [1, 2],
    [1_999, 2],
    [1, 3],
    [4_000, 4],
  ] as const) {
    await scene.after(pause);
    assert.equal(scene.sent.length, count);
  }
  assert.deepEqual(new Set(scene.sent), new Set(['[a]']));
  assert.deepEqual(scene.reported, ['away', null]);
  assert.equal(scene.rings.lost(), 0);
});

test('a pause that the collector asks for is kept', async () => {
  const scene = new Scene();
  scene.answers.push(away(20_000));
  await scene.after(1_000, 'a');
  await scene.after(19_999);
  assert.equal(scene.sent.length, 1);
  await scene.after(1);
  assert.equal(scene.sent.length, 2);
});

test('a batch is given up after a minute, and newer spans are tried', async () => {
  const scene = new Scene();
  for (let nth = 0; nth < 20; nth++) scene.answers.push(away());
  await scene.after(1_000, 'a');
  for (let second = 0; second < 60; second++) await scene.after(1_000);
  assert.equal(scene.rings.lost(), 2);
  await scene.after(30_000, 'b');
  assert.equal(scene.sent.at(-1), '[b]');
});

test('a batch that is refused is lost, and spans that are rejected are counted', async () => {
  const scene = new Scene();
  scene.answers.push({ kind: 'refused', reason: 'no' }, { kind: 'delivered', rejected: 1, reason: 'too old' });
  await scene.after(1_000, 'a');
  assert.equal(scene.rings.lost(), 2);
  await scene.after(1_000, 'b');
  assert.equal(scene.rings.lost(), 3);
  await scene.after(1_000, 'c');
  assert.deepEqual(scene.reported, ['no', 'too old', null]);
  scene.answers.push({ kind: 'delivered', rejected: 1e9, reason: 'nonsense' });
  await scene.after(1_000, 'd');
  assert.equal(scene.rings.lost(), 5, 'no more than were sent');
});

test('at most 8 MB wait, including bytes in flight; the rest is dropped and counted', async () => {
  const scene = new Scene();
  for (let nth = 0; nth < 20; nth++) scene.answers.push(away());
  const text = 'x'.repeat(1 << 19);
  await scene.after(1_000, text);
  for (let nth = 0; nth < 20; nth++) await scene.after(0, text);
  assert.equal(scene.rings.lost(), 2 * 5);
});

test('at the end everything is sent once more, and failures are counted', async () => {
  const scene = new Scene();
  scene.answers.push(away(), DELIVERED, away());
  await scene.after(1_000, 'a');
  await scene.exporter.turn(true);
  assert.deepEqual([scene.sent.length, scene.exporter.busy], [2, false]);
  await scene.after(0, 'b', 'c');
  await scene.exporter.turn(true);
  assert.ok(scene.exporter.busy);
  scene.exporter.end();
  assert.deepEqual([scene.rings.lost(), scene.exporter.busy], [4, false]);
});
