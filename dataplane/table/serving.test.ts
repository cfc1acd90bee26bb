import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../shared/runtime/clock.ts';
import { systemRandom } from '../../shared/runtime/random.ts';
import { type Publisher, UnacknowledgedError } from '../publish/publisher.ts';
import { restore } from './disk/restore.ts';
import { Store } from './disk/store.ts';
import { LiveTable } from './live-table.ts';
import { UnsavedError } from './table.ts';
import { frameOf, routeOf, TemporaryTable } from './testing/temporary-table.ts';

/** Workers that acknowledge generations in order, when the test says so. */
class SlowWorkers implements Publisher {
  generation = 1;
  private waiting: { generation: number; serve: (generation: number) => void; fail: (error: Error) => void }[] = [];

  publish(): Promise<number> {
    const generation = ++this.generation;
    return new Promise((serve, fail) => this.waiting.push({ generation, serve, fail }));
  }

  get behind(): number {
    return this.waiting.length;
  }

  serveAll(): void {
    for (const { generation, serve } of this.waiting.splice(0)) serve(generation);
  }

  failAll(): void {
    for (const { fail } of this.waiting.splice(0)) fail(new UnacknowledgedError('not served everywhere'));
  }
}

/** A store whose disk rejects every write. */
class FullStore extends Store {
  override save(): Promise<void> {
    return Promise.reject(new UnsavedError('the disk is full'));
  }
}

async function open(fixture: TemporaryTable): Promise<{ workers: SlowWorkers; table: LiveTable }> {
  const workers = new SlowWorkers();
  const restored = await restore(fixture.folder, systemClock, fixture.log);
  return { workers, table: new LiveTable({ restored, publisher: workers, clock: systemClock, random: systemRandom }) };
}

/** Waits until a number of publications are in progress. */
async function published(workers: SlowWorkers, count: number): Promise<void> {
  for (const end = performance.now() + 60_000; workers.behind < count; await new Promise(setImmediate))
    assert.ok(performance.now() < end, `${workers.behind} publications are in progress, not ${count}`);
}

/** Whether a promise is still pending after everything that could settle it has run. */
async function isOpen(promise: Promise<unknown>): Promise<boolean> {
  const settled = promise.then(
    () => false,
    () => false,
  );
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  return Promise.race([settled, Promise.resolve(true)]);
}

test('a change resolves and listeners are called only once every worker serves it', async () => {
  using fixture = new TemporaryTable();
  const { workers, table } = await open(fixture);
  const heard: number[] = [];
  table.onChange(({ generation }) => heard.push(generation));
  const posted = table.post(routeOf('a.test'));
  await published(workers, 1);
  assert.ok(await isOpen(posted));
  assert.deepEqual(heard, []);
  workers.serveAll();
  assert.equal((await posted).route.domain, 'a.test');
  assert.deepEqual(heard, [2]);
  table.close();
});

test('a write does not wait until the workers serve earlier changes', async () => {
  using fixture = new TemporaryTable();
  const { workers, table } = await open(fixture);
  const all = Promise.all(['a.test', 'b.test', 'c.test'].map((domain) => table.post(routeOf(domain))));
  await published(workers, 3);
  workers.serveAll();
  await all;
  table.close();
});

test('a repeated change resolves when the one in progress is served', async () => {
  using fixture = new TemporaryTable();
  const { workers, table } = await open(fixture);
  const frame = frameOf({}, [routeOf('b.test', 'up:1', { source: 'file' })]);
  const first = [table.post(routeOf('a.test')), table.apply(frame)];
  await published(workers, 2);
  const second = [table.post(routeOf('a.test')), table.apply(frame)];
  for (const answer of second) assert.ok(await isOpen(answer), 'it resolved before it was served');
  workers.serveAll();
  await Promise.all([...first, ...second]);
  const { generation } = workers;
  await table.post(routeOf('a.test'));
  assert.equal(workers.generation, generation, 'everything is served, so nothing is published');
  table.close();
});

test('a change that workers do not serve in time is saved, listeners are called, and a repeated request waits for it', async () => {
  using fixture = new TemporaryTable();
  const { workers, table } = await open(fixture);
  const heard: (readonly string[])[] = [];
  table.onChange(({ added }) => heard.push(added));
  const posted = table.post(routeOf('a.test'));
  await published(workers, 1);
  workers.failAll();
  await assert.rejects(posted, UnacknowledgedError);
  assert.deepEqual(heard, [['a.test']]);
  assert.equal(table.find('a.test')?.route.upstream, 'up:1');
  const again = table.post(routeOf('a.test'));
  await published(workers, 1);
  assert.ok(await isOpen(again));
  workers.serveAll();
  await again;
  table.close();
  await fixture.restart();
  assert.ok(fixture.table.find('a.test'));
});

test('a frame that could not be saved has no effect, not even on reported problems', async () => {
  using fixture = new TemporaryTable();
  const restored = await restore(fixture.folder, systemClock, fixture.log);
  restored.store.close();
  const store = new FullStore(restored.store.path);
  const workers = new SlowWorkers();
  const table = new LiveTable({ restored: { ...restored, store }, publisher: workers, clock: systemClock, random: systemRandom });
  const problem = { source: 'file', origin: 'x', domain: null, code: 'x', message: 'x', since: 'now' };
  const frame = frameOf({}, [routeOf('a.test', 'up:1', { source: 'file' })], { problems: [problem], settings: { http_port: 81 } });
  await assert.rejects(table.apply(frame), UnsavedError);
  assert.deepEqual([table.list(), table.problems(), table.controllers(), table.globals(), workers.behind], [[], [], [], {}, 0]);
  table.close();
});
