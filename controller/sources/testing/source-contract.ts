import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import type { DataplaneEvent, Reading, Snapshot, Source } from '../source.ts';

/** A source on a world that the test changes. The world is empty and can be listed; nothing runs yet. */
export type SourceWorld = {
  readonly source: Source;
  /** These domains have an object each, which names a target, and nothing else is there. */
  set(...domains: string[]): void | Promise<void>;
  /** One more object asks for this domain, with a mistake in what it says. */
  addMistaken(domain: string): void | Promise<void>;
  /** From now on nothing can be listed. */
  fail(): void | Promise<void>;
  /** It can be listed again. */
  recover(): void | Promise<void>;
};

/** The longest wait for anything that a test expects (ms). */
const PATIENCE_MS = 15_000;

/** What every source keeps to, as tests of this file's importer. Whatever is set in `create` ends with its test. */
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

  test(`${name}: the first snapshot is whole, and each route says whose it is`, async (t) => {
    const { source, snapshots } = await started(t, 'a.example', 'b.example');
    const [first] = snapshots;
    assert.ok(first?.kind === 'listed');
    assert.equal(servedIn(first), 'a.example b.example');
    for (const one of [first, ...first.routes, ...first.problems]) assert.equal(one.source, source.name);
    for (const { origin } of first.routes) assert.ok(origin);
  });

  test(`${name}: what comes and what goes changes the snapshot, which stays whole`, async (t) => {
    const { set, until, served, snapshots } = await started(t, 'a.example', 'b.example');
    await set('a.example', 'b.example', 'c.example');
    await until('a third', () => served() === 'a.example b.example c.example');
    await set('b.example', 'c.example');
    await until('one less', () => served() === 'b.example c.example');
    for (const snapshot of snapshots) assert.match(servedIn(snapshot) ?? '', /b\.example/);
  });

  test(`${name}: a listing that fails is told as a failure, and never as an empty one`, async (t) => {
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

  test(`${name}: what can't be listed at the start has failed, and is listed as soon as it can be`, async (t) => {
    const { fail, recover, set, start: begin } = await prepared(t);
    await fail();
    const { until, served, snapshots } = begin();
    await until('the failure', () => snapshots.length > 0);
    assert.equal(snapshots[0]?.kind, 'failed');
    await recover();
    await set('a.example');
    await until('the listing', () => served() === 'a.example');
  });

  test(`${name}: a relist is a snapshot, changed or not`, async (t) => {
    const { source, until, snapshots } = await started(t, 'a.example');
    for (let round = 1; round <= 3; round++) {
      const before = snapshots.length;
      source.relist();
      await until('another', () => snapshots.length > before);
      assert.equal(servedIn(snapshots.at(-1)), 'a.example');
    }
  });

  test(`${name}: a reload, where there is one, resolves with the snapshot that was emitted for it`, async (t) => {
    const { source, addMistaken, snapshots } = await started(t, 'a.example');
    if (!source.reload) return;
    assert.equal(await source.reload(), snapshots.at(-1));
    await addMistaken('b.example');
    const mistaken = await source.reload();
    assert.equal(mistaken, snapshots.at(-1));
    assert.equal(mistaken.kind, 'failed');
  });

  test(`${name}: when it is stopped it ends, leaves nothing running, and says nothing more; it can be run again`, async (t) => {
    const first = await started(t, 'a.example');
    const { source, set, fail, recover, stop, snapshots, pending } = first;
    await fail();
    await first.until('the failure', () => snapshots.at(-1)?.kind === 'failed');
    await stop();
    assert.deepEqual(pending(), []);
    const said = snapshots.length;
    await recover();
    await set('b.example');
    source.relist();
    const second = first.start();
    await second.until('the new listing', () => second.served() === 'b.example');
    await second.stop();
    assert.deepEqual([pending(), snapshots.length], [[], said]);
  });

  test(`${name}: one that is stopped before it has listed says nothing`, async (t) => {
    const { source, start: begin, pending } = await prepared(t, 'a.example');
    const { stop, snapshots } = begin();
    await stop();
    const aborted: Snapshot[] = [];
    await source.run(AbortSignal.abort(), (snapshot) => aborted.push(snapshot));
    assert.deepEqual([pending(), snapshots, aborted], [[], [], []]);
  });

  test(`${name}: readings name each object, and since when it is as it is`, async (t) => {
    const { source, until, snapshots } = await started(t, 'a.example', 'b.example');
    const before = source.readings();
    for (const domain of ['a.example', 'b.example']) {
      const of = before.find(({ domains }) => domains.includes(domain));
      assert.partialDeepStrictEqual(of, { source: source.name, accepted: { holds: true }, resolved: { holds: true }, change: null });
      for (const word of [of?.kind, of?.id, of?.name, of?.origin, of?.accepted.reason, of?.resolved.reason]) assert.ok(word);
      assert.ok(Date.parse(of?.accepted.since ?? '') <= Date.now());
    }
    assert.equal(new Set(before.map(({ id, section }) => JSON.stringify([id, section]))).size, before.length);
    const said = snapshots.length;
    source.relist();
    await until('another', () => snapshots.length > said);
    assert.deepEqual(source.readings(), before);
  });

  test(`${name}: a mistake is in a reading, with what to write, and takes nothing away`, async (t) => {
    const { source, addMistaken, until, snapshots } = await started(t, 'a.example', 'b.example');
    await addMistaken('c.example');
    const mistaken = () => source.readings().find(({ accepted }) => !accepted.holds);
    await until('the mistake', () => mistaken() !== undefined);
    assert.ok(mistaken()?.accepted.reason);
    assert.ok(mistaken()?.change);
    for (const snapshot of snapshots) assert.equal(servedIn(snapshot) ?? 'a.example b.example', 'a.example b.example');
  });

  test(`${name}: what awaits a data plane lists nothing before it has heard of one`, async (t) => {
    const { source, start: begin } = await prepared(t, 'a.example');
    if (!source.awaitsDataplane) return;
    const { until, served, snapshots } = begin(() => undefined);
    await until('its objects to be seen', () => source.readings().length > 0);
    assert.deepEqual(snapshots, []);
    hearOf(source);
    await until('the listing', () => served() === 'a.example');
  });

  test(`${name}: a target that a data plane finds down is in the readings of whose it is, until it is up again`, async (t) => {
    const { source } = await started(t, 'a.example', 'b.example');
    const before = source.readings();
    const tell = (healthy: boolean, { id, address }: Pick<Reading, 'id' | 'address'>) =>
      source.hear?.({ kind: 'upstream', dataplane: 'd', id, address: address ?? '192.0.2.1:80', healthy, reason: 'connection refused' });
    tell(false, { id: 'of nobody here', address: '192.0.2.1:80' });
    assert.deepEqual(source.readings(), before);
    const [target] = before.filter(({ address }) => address !== null);
    if (!target || !source.hear) return;
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
  source.hear?.({ kind: 'applied', dataplane: 'd', applied } satisfies DataplaneEvent);
}

/** Runs the source until the test ends, having told it of a data plane. */
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
        assert.fail(`waited in vain for ${what}: ${JSON.stringify(snapshots.map((one) => servedIn(one) ?? one))}`);
  };
  return { snapshots, stop, until, served: () => servedIn(snapshots.at(-1)) };
}

/** The domains that have a target, sorted; undefined where it is no listing. */
function servedIn(snapshot: Snapshot | undefined): string | undefined {
  if (snapshot?.kind !== 'listed') return undefined;
  const served = snapshot.routes.filter(({ upstreams }) => upstreams.length > 0);
  return served
    .map(({ domain }) => domain)
    .sort()
    .join(' ');
}

/** The system's clock, and the timers of it that are still to fire, by their time (ms). */
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
