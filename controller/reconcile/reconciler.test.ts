import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../shared/runtime/testing/memory-log.ts';
import { sampleListing } from '../desired/testing/sample-listing.ts';
import type { Snapshot } from '../sources/source.ts';
import { createReconciler, type DesiredState, type Reconciler } from './reconciler.ts';

function started(names: string[] = ['file']): { clock: ManualClock; reconciler: Reconciler; states: DesiredState[]; relisted: string[] } {
  const clock = new ManualClock();
  const states: DesiredState[] = [];
  const relisted: string[] = [];
  const reconciler = createReconciler({
    sources: names.map((name) => ({ name, relist: () => relisted.push(name) })),
    clock,
    log: memoryLog(),
    changed: (state) => states.push(state),
  });
  return { clock, reconciler, states, relisted };
}

const many = Array.from({ length: 20 }, (_, at) => `s${at}.example`);
const domains = (state: DesiredState | undefined) => [...(state?.desired.routes.keys() ?? [])];
const failed: Snapshot = { kind: 'failed', source: 'file', errors: ['Sluicefile:1:1: no'] };

test('the first listing of the last awaited source is applied at once', () => {
  const { clock, reconciler, states } = started(['file', 'docker']);
  reconciler.accept(sampleListing(['a.example']));
  assert.equal(states.length, 0);
  clock.pass(100);
  assert.deepEqual(domains(states[0]), ['a.example']);
  reconciler.accept(sampleListing(['b.example'], { source: 'docker' }));
  assert.deepEqual(domains(states[1]), ['a.example', 'b.example']);
});

test('later changes wait for 100 ms of quiet', () => {
  const { clock, reconciler, states } = started();
  reconciler.accept(sampleListing(['a.example']));
  reconciler.accept(sampleListing(['b.example']));
  reconciler.accept(sampleListing(['c.example']));
  assert.equal(states.length, 1);
  clock.pass(100);
  assert.deepEqual(states.map(domains), [['a.example'], ['c.example']]);
});

test('an urgent listing is applied at once, together with pending ones', () => {
  const { reconciler, states } = started();
  reconciler.accept(sampleListing(['a.example', 'b.example']));
  reconciler.accept(sampleListing(['a.example', 'b.example', 'c.example']));
  reconciler.accept(sampleListing(['a.example', 'c.example'], { urgent: true }));
  assert.deepEqual(states.map(domains), [
    ['a.example', 'b.example'],
    ['a.example', 'c.example'],
  ]);
});

test('a greeting is a desired state without sources, and only sent first', () => {
  const { reconciler, states } = started();
  reconciler.startEmpty();
  assert.deepEqual([states.length, states[0]?.desired.sources, domains(states[0])], [1, [], []]);
  reconciler.accept(sampleListing(['a.example']));
  assert.deepEqual(domains(states[1]), ['a.example']);
});

test('the same listing again changes nothing', () => {
  const { clock, reconciler, states } = started();
  reconciler.accept(sampleListing(['a.example']));
  reconciler.accept(sampleListing(['a.example']));
  clock.pass(1_000);
  assert.equal(states.length, 1);
});

test('a failure keeps the last listing, and a success clears the failure', () => {
  const { clock, reconciler, states } = started();
  reconciler.accept(sampleListing(['a.example']));
  reconciler.accept(failed);
  clock.pass(100);
  assert.deepEqual([domains(states[1]), states[1]?.problems[0]?.code], [['a.example'], 'source_failed']);
  reconciler.accept(sampleListing(['a.example']));
  clock.pass(100);
  assert.deepEqual(states[2]?.problems, []);
});

test('a problem keeps its start time as long as it exists', () => {
  const { clock, reconciler, states } = started();
  reconciler.accept(failed);
  const since = states[0]?.problems[0]?.since;
  assert.equal(since, new Date(clock.now()).toISOString());
  clock.pass(60_000);
  reconciler.acceptConfirmed({ ...failed, errors: [...failed.errors, 'Sluicefile:2:1: nor this'] });
  assert.equal(states[1]?.problems[0]?.since, since);
  assert.equal(states[1]?.problems[1]?.since, new Date(clock.now()).toISOString());
});

test('a mass removal is listed again after 5 s, and shown as a problem until then', () => {
  const { clock, reconciler, states, relisted } = started();
  reconciler.accept(sampleListing(many));
  reconciler.accept(sampleListing([]));
  clock.pass(100);
  assert.deepEqual([domains(reconciler.state()).length, states.at(-1)?.problems[0]?.code], [20, 'removal_held']);
  clock.pass(4_900);
  assert.deepEqual(relisted, ['file']);
  reconciler.accept(sampleListing([]));
  clock.pass(100);
  assert.deepEqual([domains(reconciler.state()).length, states.at(-1)?.problems.length], [0, 0]);
});

test('a listing that has the routes again cancels the one that would have confirmed their removal', () => {
  const { clock, reconciler, relisted } = started();
  reconciler.accept(sampleListing(many));
  reconciler.accept(sampleListing(many.slice(0, 2)));
  clock.pass(4_000);
  reconciler.accept(sampleListing(many));
  clock.pass(60_000);
  assert.deepEqual(relisted, []);
});

test('settled waits only for a held removal', async () => {
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
  assert.equal(domains(reconciler.state()).length, 0);
});
