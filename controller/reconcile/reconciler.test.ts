import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryLog } from '../../shared/runtime/log.ts';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { sampleListing } from '../desired/testing/sample-listing.ts';
import type { Snapshot } from '../sources/source.ts';
import { createReconciler, type Reconciler, type Truth } from './reconciler.ts';

function started(names: string[] = ['file']): { clock: ManualClock; reconciler: Reconciler; truths: Truth[]; relisted: string[] } {
  const clock = new ManualClock();
  const truths: Truth[] = [];
  const relisted: string[] = [];
  const reconciler = createReconciler({
    sources: names.map((name) => ({ name, relist: () => relisted.push(name) })),
    clock,
    log: memoryLog(),
    changed: (truth) => truths.push(truth),
  });
  return { clock, reconciler, truths, relisted };
}

const many = Array.from({ length: 20 }, (_, at) => `s${at}.example`);
const domains = (truth: Truth | undefined) => [...(truth?.desired.routes.keys() ?? [])];
const failed: Snapshot = { kind: 'failed', source: 'file', errors: ['Sluicefile:1:1: no'] };

test('the first listing of the last source that was awaited counts at once', () => {
  const { clock, reconciler, truths } = started(['file', 'docker']);
  reconciler.accept(sampleListing(['a.example']));
  assert.equal(truths.length, 0);
  clock.pass(100);
  assert.deepEqual(domains(truths[0]), ['a.example']);
  reconciler.accept(sampleListing(['b.example'], { source: 'docker' }));
  assert.deepEqual(domains(truths[1]), ['a.example', 'b.example']);
});

test('later changes wait for 100 ms of quiet', () => {
  const { clock, reconciler, truths } = started();
  reconciler.accept(sampleListing(['a.example']));
  reconciler.accept(sampleListing(['b.example']));
  reconciler.accept(sampleListing(['c.example']));
  assert.equal(truths.length, 1);
  clock.pass(100);
  assert.deepEqual(truths.map(domains), [['a.example'], ['c.example']]);
});

test('an urgent listing waits for nothing, and takes along what waited', () => {
  const { reconciler, truths } = started();
  reconciler.accept(sampleListing(['a.example', 'b.example']));
  reconciler.accept(sampleListing(['a.example', 'b.example', 'c.example']));
  reconciler.accept(sampleListing(['a.example', 'c.example'], { urgent: true }));
  assert.deepEqual(truths.map(domains), [
    ['a.example', 'b.example'],
    ['a.example', 'c.example'],
  ]);
});

test('a greeting is a truth about no source, and only the first word', () => {
  const { reconciler, truths } = started();
  reconciler.greet();
  assert.deepEqual([truths.length, truths[0]?.desired.sources, domains(truths[0])], [1, [], []]);
  reconciler.accept(sampleListing(['a.example']));
  assert.deepEqual(domains(truths[1]), ['a.example']);
});

test('the same listing again changes nothing', () => {
  const { clock, reconciler, truths } = started();
  reconciler.accept(sampleListing(['a.example']));
  reconciler.accept(sampleListing(['a.example']));
  clock.pass(1_000);
  assert.equal(truths.length, 1);
});

test('a failure keeps the last listing, and a good one clears the failure', () => {
  const { clock, reconciler, truths } = started();
  reconciler.accept(sampleListing(['a.example']));
  reconciler.accept(failed);
  clock.pass(100);
  assert.deepEqual([domains(truths[1]), truths[1]?.problems[0]?.code], [['a.example'], 'source_failed']);
  reconciler.accept(sampleListing(['a.example']));
  clock.pass(100);
  assert.deepEqual(truths[2]?.problems, []);
});

test('a problem keeps its first date for as long as it lasts', () => {
  const { clock, reconciler, truths } = started();
  reconciler.accept(failed);
  const since = truths[0]?.problems[0]?.since;
  assert.equal(since, new Date(clock.now()).toISOString());
  clock.pass(60_000);
  reconciler.acceptConfirmed({ ...failed, errors: [...failed.errors, 'Sluicefile:2:1: nor this'] });
  assert.equal(truths[1]?.problems[0]?.since, since);
  assert.equal(truths[1]?.problems[1]?.since, new Date(clock.now()).toISOString());
});

test('a mass removal is listed again after 5 s, and shown as a problem until then', () => {
  const { clock, reconciler, truths, relisted } = started();
  reconciler.accept(sampleListing(many));
  reconciler.accept(sampleListing([]));
  clock.pass(100);
  assert.deepEqual([domains(reconciler.truth()).length, truths.at(-1)?.problems[0]?.code], [20, 'removal_held']);
  clock.pass(4_900);
  assert.deepEqual(relisted, ['file']);
  reconciler.accept(sampleListing([]));
  clock.pass(100);
  assert.deepEqual([domains(reconciler.truth()).length, truths.at(-1)?.problems.length], [0, 0]);
});

test('settled waits for a removal that is held, and for nothing else', async () => {
  const { clock, reconciler } = started();
  reconciler.accept(sampleListing(many));
  await reconciler.settled('file');
  reconciler.acceptConfirmed(sampleListing([]));
  let settled = false;
  const waiting = reconciler.settled('file').then(() => {
    settled = true;
  });
  await Promise.resolve();
  assert.equal(settled, false);
  clock.pass(5_000);
  reconciler.accept(sampleListing([]));
  clock.pass(100);
  await waiting;
  assert.equal(domains(reconciler.truth()).length, 0);
});
