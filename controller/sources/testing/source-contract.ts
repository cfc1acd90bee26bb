import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import type { DataplaneEvent, Reading, Snapshot, Source } from '../source.ts';

/** A source whose objects are changed by the test. There are none at first, listing works, and nothing runs yet. */
export type SourceWorld = {
  readonly source: Source;
  /** Exactly one object with a target exists for each of these domains. */
  set(...domains: string[]): void | Promise<void>;
  /** Adds an object for this domain with an error in it. */
  addMistaken(domain: string): void | Promise<void>;
  /** From now on listing fails. */
  fail(): void | Promise<void>;
  /** Listing works again. */
  recover(): void | Promise<void>;
};

/** The longest wait for anything that a test expects (ms). */
const PATIENCE_MS = 60_000;

/** The contract of every source, as tests of the importing file. What `create` sets up ends with its test. */
export function sourceContract(name: string, create: (t: TestContext, clock: Clock) => SourceWorld | Promise<SourceWorld>): void {
  const prepared = async (t: TestContext, ...domains: string[]) => {
    const timers = countingClock();
    const world = await create(t, timers.clock);
    if (domains.length > 0) await world.set(...domains);
    return { ...world, pending: timers.pending, start: (tell?: (source: Source) => void) => start(t, world.source, tell) };
  };
  /** Listed once, with these domains, each of them served. */
  const started = async (t: TestContext, ...domains: string[]) => {
    const world = await prepared(t, ...domains);
    const run = world.start();
    await run.until('the first listing', () => run.served() === domains.join(' '));
    return { ...world, ...run };
  };

  test(`${name}: the first snapshot is complete, and each route names its source`, async (t) => {
    const { source, snapshots } = await started(t, 'a.example', 'b.example');
    const [first] = snapshots;
    assert.ok(first?.kind === 'listed');
    assert.equal(servedIn(first), 'a.example b.example');
    for (const one of [first, ...first.routes, ...first.problems]) assert.equal(one.source, source.name);
    for (const { origin } of first.routes) assert.ok(origin);
  });

  test(`${name}: added and removed objects change the snapshot, which stays complete`, async (t) => {
    const { set, until, served, snapshots } = await started(t, 'a.example', 'b.example');
    await set('a.example', 'b.example', 'c.example');
    await until('a third', () => served() === 'a.example b.example c.example');
    await set('b.example', 'c.example');
    await until('one less', () => served() === 'b.example c.example');
    for (const snapshot of snapshots) assert.match(servedIn(snapshot) ?? '', /b\.example/);
  });

  test(`${name}: a failed listing is reported as a failure, never as an empty one`, async (t) => {
    const { source, fail, recover, set, until, served, snapshots } = await started(t, 'a.example', 'b.example');
    await fail();
    source.relist();
    await until('the failure', () => snapshots.at(-1)?.kind === 'failed');
    await recover();
    await set('a.example', 'b.example', 'c.example');
    source.relist();
    await until('all again', () => served() === 'a.example b.example c.example');
    const failures = snapshots.filter((snapshot) => snapshot.kind === 'failed');
    for (const { source: whose, errors } of failures) {
      assert.equal(whose, source.name);
      assert.ok(errors.length > 0 && errors.every((line) => /^\S.*$/.test(line)), JSON.stringify(errors));
    }
    for (const snapshot of snapshots) assert.match(servedIn(snapshot) ?? 'a.example b.example', /^a\.example b\.example/);
  });

  test(`${name}: a source that can't list at the start reports a failure, and lists as soon as it can`, async (t) => {
    const { fail, recover, set, start: begin } = await prepared(t);
    await fail();
    const { until, served, snapshots } = begin();
    await until('the failure', () => snapshots.length > 0);
    assert.equal(snapshots[0]?.kind, 'failed');
    await recover();
    await set('a.example');
    await until('the listing', () => served() === 'a.example');
  });

  test(`${name}: a relist emits a snapshot even without changes`, async (t) => {
    const { source, until, snapshots } = await started(t, 'a.example');
    for (let round = 1; round <= 3; round++) {
      const before = snapshots.length;
      source.relist();
      await until('another', () => snapshots.length > before);
      assert.equal(servedIn(snapshots.at(-1)), 'a.example');
    }
  });

  test(`${name}: a reload, if supported, resolves with the snapshot that it emitted`, async (t) => {
    const { source, addMistaken, snapshots } = await started(t, 'a.example');
    if (!source.reload) return;
    assert.equal(await source.reload(), snapshots.at(-1));
    await addMistaken('b.example');
    const mistaken = await source.reload();
    assert.equal(mistaken, snapshots.at(-1));
    assert.equal(mistaken.kind, 'failed');
  });

  test(`${name}: after a stop it leaves nothing running and emits nothing more; it can be run again`, async (t) => {
    const first = await started(t, 'a.example');
    const { source, set, fail, recover, stop, snapshots, pending } = first;
    await fail();
    await first.until('the failure', () => snapshots.at(-1)?.kind === 'failed');
    await stop();
    assert.deepEqual(pending(), []);
    const count = snapshots.length;
    await recover();
    await set('b.example');
    source.relist();
    const second = first.start();
    await second.until('the new listing', () => second.served() === 'b.example');
    await second.stop();
    assert.deepEqual([pending(), snapshots.length], [[], count]);
  });

  test(`${name}: a source stopped before it has listed emits nothing`, async (t) => {
    const { source, start: begin, pending } = await prepared(t, 'a.example');
    const { stop, snapshots } = begin();
    await stop();
    const aborted: Snapshot[] = [];
    await source.run(AbortSignal.abort(), (snapshot) => aborted.push(snapshot));
    assert.deepEqual([pending(), snapshots, aborted], [[], [], []]);
  });

  test(`${name}: readings list each object and since when its state has held`, async (t) => {
    const { source, until, snapshots } = await started(t, 'a.example', 'b.example');
    const before = source.readings();
    for (const domain of ['a.example', 'b.example']) {
      const of = before.find(({ domains }) => domains.includes(domain));
      assert.partialDeepStrictEqual(of, { source: source.name, accepted: { holds: true }, resolved: { holds: true }, change: null });
      for (const word of [of?.kind, of?.id, of?.name, of?.origin, of?.accepted.reason, of?.resolved.reason]) assert.ok(word);
      assert.ok(Date.parse(of?.accepted.since ?? '') <= Date.now());
    }
    assert.equal(new Set(before.map(({ id, section }) => JSON.stringify([id, section]))).size, before.length);
    const count = snapshots.length;
    source.relist();
    await until('another', () => snapshots.length > count);
    assert.deepEqual(source.readings(), before);
  });

  test(`${name}: an error is in a reading with what to write, and removes nothing`, async (t) => {
    const { source, addMistaken, until, snapshots } = await started(t, 'a.example', 'b.example');
    await addMistaken('c.example');
    const mistaken = () => source.readings().find(({ accepted }) => !accepted.holds);
    await until('the mistake', () => mistaken() !== undefined);
    assert.ok(mistaken()?.accepted.reason);
    assert.ok(mistaken()?.change);
    for (const snapshot of snapshots) assert.equal(servedIn(snapshot) ?? 'a.example b.example', 'a.example b.example');
  });

  test(`${name}: a source that waits for a data plane lists nothing before it has heard from one`, async (t) => {
    const { source, start: begin } = await prepared(t, 'a.example');
    if (!source.awaitsDataplane) return;
    const { until, served, snapshots } = begin(() => undefined);
    await until('its objects to be seen', () => source.readings().length > 0);
    assert.deepEqual(snapshots, []);
    hearOf(source);
    await until('the listing', () => served() === 'a.example');
  });

  test(`${name}: a target reported as down is in the readings of its object until it is up again`, async (t) => {
    const { source } = await started(t, 'a.example', 'b.example');
    const before = source.readings();
    const tell = (healthy: boolean, { id, address }: Pick<Reading, 'id' | 'address'>) =>
      source.notify?.({ kind: 'upstream', dataplane: 'd', id, address: address ?? '192.0.2.1:80', healthy, reason: 'connection refused' });
    tell(false, { id: 'of nobody here', address: '192.0.2.1:80' });
    assert.deepEqual(source.readings(), before);
    const [target] = before.filter(({ address }) => address !== null);
    if (!target || !source.notify) return;
    tell(false, target);
    const down = source.readings().filter(({ resolved }) => !resolved.holds);
    assert.deepEqual(
      down.map(({ id, resolved, change }) => [id, resolved.reason, change !== null]),
      [[target.id, 'connection refused', true]],
    );
    tell(true, target);
    assert.deepEqual(source.readings(), before);
  });
}

/** A data plane on this host opens its stream. */
function hearOf(source: Source): void {
  const applied = { instance: 'i', revision: 1, generation: 1, results: [], removed: [], addresses: [] };
  source.notify?.({ kind: 'applied', dataplane: 'd', applied } satisfies DataplaneEvent);
}

/** Runs the source until the test ends, after reporting a data plane to it. */
function start(t: TestContext, source: Source, tell: (source: Source) => void = hearOf) {
  const stopping = new AbortController();
  const snapshots: Snapshot[] = [];
  tell(source);
  const running = source.run(stopping.signal, (snapshot) => snapshots.push(snapshot));
  const stop = () => {
    stopping.abort();
    return running;
  };
  t.after(stop);
  const until = async (what: string, isMet: () => boolean) => {
    for (const end = performance.now() + PATIENCE_MS; !isMet(); await wait(2))
      if (performance.now() > end)
        assert.fail(`timed out waiting for ${what}: ${JSON.stringify(snapshots.map((one) => servedIn(one) ?? one))}`);
  };
  return { snapshots, stop, until, served: () => servedIn(snapshots.at(-1)) };
}

/** The domains that have a target, sorted; undefined if it is not a listing. */
function servedIn(snapshot: Snapshot | undefined): string | undefined {
  if (snapshot?.kind !== 'listed') return undefined;
  const served = snapshot.routes.filter(({ upstreams }) => upstreams.length > 0);
  return served
    .map(({ domain }) => domain)
    .sort()
    .join(' ');
}

/** The system's clock, and its pending timers by time (ms). */
function countingClock(): { clock: Clock; pending(): number[] } {
  const timers = new Map<object, number>();
  const counted = (ms: number, cancel: () => void, key: object) => {
    timers.set(key, ms);
    return () => {
      timers.delete(key);
      cancel();
    };
  };
  const after = (ms: number, task: () => void) => {
    const key = {};
    const fire = () => {
      timers.delete(key);
      task();
    };
    return counted(ms, systemClock.after(ms, fire), key);
  };
  const every = (ms: number, task: () => void) => counted(ms, systemClock.every(ms, task), {});
  return { clock: { ...systemClock, after, every }, pending: () => [...timers.values()] };
}
