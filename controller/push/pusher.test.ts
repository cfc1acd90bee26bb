import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { formatAdminAddress } from '../../shared/api/admin-address.ts';
import { type Clock, systemClock } from '../../shared/runtime/clock.ts';
import { systemRandom } from '../../shared/runtime/random.ts';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { desire, type Listing, type SourceView } from '../desired/desire.ts';
import { sampleListing, sampleRoute } from '../desired/testing/sample-listing.ts';
import type { DesiredState } from '../reconcile/reconciler.ts';
import type { ConditionsSource } from './condition-lines.ts';
import { type PushEvent, Pusher } from './pusher.ts';
import { Reached } from './reached.ts';
import { FakeDataplane } from './testing/fake-dataplane.ts';

const NOW = '2026-01-01T00:00:00.000Z';

function stateOf(listings: readonly Listing[], failed: Readonly<Record<string, string[]>> = {}): DesiredState {
  const views = new Map<string, SourceView>(listings.map((listing) => [listing.source, { listing, errors: failed[listing.source] ?? [] }]));
  for (const [source, errors] of Object.entries(failed)) if (!views.has(source)) views.set(source, { listing: null, errors });
  const desired = desire(views);
  return { desired, problems: desired.problems.map((problem) => ({ ...problem, since: NOW })) };
}

const file = (...domains: string[]) => stateOf([sampleListing(domains)]);

const NONE: ConditionsSource = { version: 0, list: () => [] };

/** What most of them have. */
const USUAL = {
  token: undefined,
  identity: { controller: 'controller', epoch: 7, reload: true },
  random: systemRandom,
  state: () => file('a.example'),
  reload: async () => [],
  conditions: NONE,
} as const;

/** A running pusher with a fake data plane; `set` changes the desired state. */
async function working(
  t: TestContext,
  first: DesiredState | undefined,
  reload: () => Promise<readonly string[]> = async () => [],
  more: { conditions?: ConditionsSource; clock?: Clock } = {},
) {
  const dataplane = new FakeDataplane();
  const address = await dataplane.listen();
  const stopping = new AbortController();
  const events: PushEvent[] = [];
  let state = first;
  const pusher = new Pusher({
    ...USUAL,
    address,
    clock: more.clock ?? systemClock,
    state: () => state,
    reload,
    watch: (event) => events.push(event),
    conditions: more.conditions ?? NONE,
    reached: new Reached([]),
  });
  const running = pusher.run(stopping.signal);
  t.after(async () => {
    stopping.abort();
    await running;
    await dataplane.close();
  });
  const set = (next: DesiredState) => {
    state = next;
    pusher.wake();
  };
  return { dataplane, events, set, wake: () => pusher.wake() };
}

const domainsOf = (frame: { routes: { domain: string }[] }) => frame.routes.map(({ domain }) => domain);

test('sends nothing before there is a desired state', async (t) => {
  const { dataplane, set } = await working(t, undefined);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(dataplane.streams, 0);
  set(file('a.example'));
  assert.deepEqual(domainsOf(await dataplane.frame(0)), ['a.example']);
});

test('retries an unreachable data plane at least every second, however long it takes', async () => {
  const gone = new FakeDataplane();
  const address = await gone.listen();
  await gone.close();
  const clock = new ManualClock();
  const stopping = new AbortController();
  const events: PushEvent[] = [];
  const pusher = new Pusher({
    ...USUAL,
    address,
    clock,
    watch: (event) => events.push(event),
    reached: new Reached([]),
  });
  const running = pusher.run(stopping.signal);
  for (let tries = 1; tries <= 12; tries++) {
    const end = performance.now() + 60_000;
    while (events.length < tries && performance.now() < end) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(events.length, tries);
    clock.pass(1_000);
  }
  stopping.abort();
  await running;
});

/** A pusher for the first or second one of two addresses of the data plane `one`. The other one has been reached. */
async function oneOfTwo(t: TestContext, which: 0 | 1) {
  const dataplane = new FakeDataplane();
  const address = await dataplane.listen();
  assert.equal(address.kind, 'tcp');
  const addresses = [address, { ...address, host: 'localhost' }] as const;
  const [first, second] = addresses.map(formatAdminAddress) as [string, string];
  const reached = new Reached([first, second]);
  reached.at(which === 0 ? second : first, 'one');
  const clock = new ManualClock();
  const stopping = new AbortController();
  const events: PushEvent[] = [];
  const pusher = new Pusher({
    ...USUAL,
    address: addresses[which],
    clock,
    watch: (event) => events.push(event),
    reached,
  });
  const running = pusher.run(stopping.signal);
  t.after(async () => {
    stopping.abort();
    await running;
    await dataplane.close();
  });
  const isApplied = (): boolean => events.some(({ kind }) => kind === 'applied');
  return { dataplane, first, second, reached, clock, events, isApplied };
}

test('of two addresses of one data plane, the first is used, and the second once the first has another one', async (t) => {
  const { dataplane, first, second, reached, clock, events, isApplied } = await oneOfTwo(t, 1);
  await until('the stream to end', () => events.length > 0);
  assert.deepEqual(events, [{ kind: 'duplicate', of: first }]);
  for (let passed = 0; passed < 60; passed++) {
    clock.pass(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(dataplane.streams, 1, 'it gets no other stream');
  reached.at(first, 'two');
  clock.pass(1_000);
  await until('the data plane to be used', isApplied);
  assert.equal(reached.earlier(second), null);
});

test('the second of two addresses of one data plane is used once it is that of another one, which needs no other stream', async (t) => {
  const { dataplane, second, reached, clock, events, isApplied } = await oneOfTwo(t, 1);
  await until('the stream to end', () => events.length > 0);
  await until('it to be asked twice', () => {
    clock.pass(1_000);
    return dataplane.asked >= 2;
  });
  assert.equal(dataplane.streams, 1);
  dataplane.instance = 'two';
  await until('the data plane to be used', () => {
    clock.pass(1_000);
    return isApplied();
  });
  assert.equal(dataplane.streams, 2);
  assert.equal(reached.earlier(second), null);
});

test('the second of two addresses of one data plane is tried again once nothing answers there', async (t) => {
  const { dataplane, clock, events } = await oneOfTwo(t, 1);
  await until('the stream to end', () => events.length > 0);
  await dataplane.close();
  t.mock.method(dataplane, 'close', () => Promise.resolve());
  await until('that to be reported', () => {
    clock.pass(1_000);
    return events.some((event) => event.kind === 'disconnected' && /connection refused/.test(event.reason));
  });
});

test('the second of two addresses of one data plane is used once the first is silent, or acknowledges no frames any more', async (t) => {
  for (const fails of ['silent', 'another that acknowledges nothing'] as const) {
    const { dataplane, first, second, reached, clock, events, isApplied } = await oneOfTwo(t, 0);
    await until('the data plane to be used', isApplied);
    assert.equal(reached.earlier(second), first);
    dataplane.answer = () => (fails === 'silent' ? undefined : void dataplane.end());
    if (fails === 'silent') clock.pass(90_000);
    else {
      dataplane.end();
      await until('that stream to end', () => events.some(({ kind }) => kind === 'disconnected'));
      assert.equal(reached.earlier(second), first, 'a stream that ends is opened again');
      await until('the next one', () => {
        clock.pass(1_000);
        return dataplane.streams > 1;
      });
    }
    await until('the second to be free', () => reached.earlier(second) === null);
  }
});

test('the first frame is the complete state of all sources that have listed, including settings', async (t) => {
  const { dataplane } = await working(t, stateOf([sampleListing(['a.example'], { settings: { http_port: 8080 } })]));
  const { apply, routes, settings } = await dataplane.frame(0);
  assert.deepEqual(apply, {
    controller: 'controller',
    epoch: 7,
    reload: true,
    revision: apply.revision,
    based_on: null,
    sources: ['file'],
  });
  assert.equal(routes[0]?.origin, 'file a.example');
  assert.deepEqual(settings, { http_port: 8080 });
});

test('later frames are differences from the acknowledged state', async (t) => {
  const { dataplane, set } = await working(t, file('a.example', 'b.example'));
  const first = await dataplane.frame(0);
  set(file('b.example', 'c.example'));
  const second = await dataplane.frame(1);
  assert.equal(second.apply.based_on, first.apply.revision);
  assert.deepEqual([domainsOf(second), second.removes], [['c.example'], [{ domain: 'a.example', source: 'file' }]]);
});

test('sends the removal of globals', async (t) => {
  const { dataplane, set } = await working(t, stateOf([sampleListing(['a.example'], { settings: { http_port: 8080 } })]));
  await dataplane.frame(0);
  set(file('a.example'));
  assert.deepEqual((await dataplane.frame(1)).settings, {});
});

test('sends the complete state again after an interruption, since nothing was acknowledged', async (t) => {
  const { dataplane, set, events } = await working(t, file('a.example'));
  await dataplane.frame(0);
  dataplane.answer = () => undefined;
  set(file('a.example', 'b.example'));
  await dataplane.frame(1);
  dataplane.answer = (frame) => dataplane.applied(frame);
  dataplane.cut();
  const third = await dataplane.frame(2);
  assert.deepEqual([third.apply.based_on, domainsOf(third)], [null, ['a.example', 'b.example']]);
  assert.ok(Number(third.apply.revision) > 2, 'a revision is never used twice');
  assert.equal(events.filter(({ kind }) => kind === 'disconnected').length, 1);
});

test('changes during a pending frame are sent together after its response', async (t) => {
  const { dataplane, set } = await working(t, file('a.example'));
  dataplane.answer = () => undefined;
  const first = await dataplane.frame(0);
  set(file('a.example', 'b.example'));
  set(file('a.example', 'b.example', 'c.example'));
  dataplane.send(dataplane.applied(first));
  assert.deepEqual(domainsOf(await dataplane.frame(1)), ['b.example', 'c.example']);
});

test('sends the complete state after a refusal', async (t) => {
  const { dataplane, set, events } = await working(t, file('a.example'));
  await dataplane.frame(0);
  dataplane.answer = (frame) => (frame.apply.based_on === null ? dataplane.applied(frame) : { refused: { error: 'stale', current: 99 } });
  set(file('a.example', 'b.example'));
  const third = await dataplane.frame(2);
  assert.deepEqual([third.apply.based_on, domainsOf(third)], [null, ['a.example', 'b.example']]);
  assert.deepEqual(
    events.find(({ kind }) => kind === 'refused'),
    { kind: 'refused', error: 'stale' },
  );
});

test('sends a certificate that was not stored, and no other, every 30 seconds until it is, as after a full disk', async (t) => {
  const clock = new ManualClock();
  const certificates = ['a.example', 'b.example'].map((domain) => ({ domains: [domain], certificate: 'chain', private_key: 'key' }));
  const { dataplane, events, set } = await working(t, stateOf([sampleListing(['a.example'], { certificates })]), undefined, { clock });
  const applied = async (frames: number): Promise<void> => {
    while (events.filter(({ kind }) => kind === 'applied').length < frames) await new Promise((resolve) => setImmediate(resolve));
  };
  const outcome = (domain: string, result: 'rejected' | 'added') => ({ domains: [domain], result, reason: 'the disk is full' });
  dataplane.answer = (frame) => dataplane.applied(frame, [], [outcome('a.example', 'rejected'), outcome('b.example', 'added')]);
  assert.deepEqual((await dataplane.frame(0)).certificates, [['a.example'], ['b.example']]);
  for (const result of ['rejected', 'added'] as const) {
    const frames = dataplane.heard.length;
    dataplane.answer = (frame) => dataplane.applied(frame, [], [outcome('a.example', result)]);
    await applied(frames);
    clock.pass(30_000);
    const { certificates: sent, routes } = await dataplane.frame(frames);
    assert.deepEqual([sent, routes], [[['a.example']], []]);
  }
  await applied(3);
  clock.pass(30_000);
  set(stateOf([sampleListing(['a.example', 'c.example'], { certificates })]));
  const last = await dataplane.frame(3);
  assert.deepEqual([last.certificates, domainsOf(last)], [[], ['c.example']]);
});

test('the revision counts frames, so that it does not grow while nothing changes', async (t) => {
  const clock = new ManualClock();
  const { dataplane, events, set } = await working(t, file('a.example'), undefined, { clock });
  const first = await dataplane.frame(0);
  await until('the frame to be applied', () => events.some(({ kind }) => kind === 'applied'));
  clock.pass(30_000);
  set(file('b.example'));
  const second = await dataplane.frame(1);
  assert.deepEqual([first.apply.revision, second.apply.revision], [1, 2]);
});

test('sends a manually changed route again at once', async (t) => {
  const { dataplane } = await working(t, file('a.example', 'b.example'));
  const first = await dataplane.frame(0);
  dataplane.send({ routes: { domain: 'b.example', change: 'removed', route: null } });
  const second = await dataplane.frame(1);
  assert.deepEqual([second.apply.based_on, domainsOf(second)], [first.apply.revision, ['b.example']]);
});

test('a reload is answered in the frame with its changes', async (t) => {
  let reloaded: () => void = () => undefined;
  const { dataplane, set } = await working(t, file('a.example'), async () => {
    reloaded();
    return [];
  });
  reloaded = () => set(file('b.example'));
  await dataplane.frame(0);
  dataplane.send({ reload: { id: 'r1' } });
  const second = await dataplane.frame(1);
  assert.deepEqual([second.reload, domainsOf(second), second.removes.length], [{ id: 'r1', errors: [] }, ['b.example'], 1]);
});

test('a reload that finds errors is answered with them and changes nothing', async (t) => {
  let reloaded: () => void = () => undefined;
  const { dataplane, set } = await working(t, file('a.example'), async () => {
    reloaded();
    return ['Sluicefile:1:1: no'];
  });
  reloaded = () => set(stateOf([sampleListing(['a.example'])], { file: ['Sluicefile:1:1: no'] }));
  const first = await dataplane.frame(0);
  dataplane.send({ reload: { id: 'r2' } });
  const second = await dataplane.frame(1);
  assert.deepEqual(second.reload, { id: 'r2', errors: ['Sluicefile:1:1: no'] });
  assert.deepEqual([second.apply.based_on, second.routes, second.removes, second.settings], [first.apply.revision, [], [], undefined]);
  assert.equal(second.problems[0]?.message, 'Sluicefile:1:1: no');
});

test('reports a source that has only failed, and leaves its routes unchanged', async (t) => {
  const { dataplane } = await working(t, stateOf([], { file: ['Sluicefile:1:1: no'] }));
  const [first, second] = [await dataplane.frame(0), await dataplane.frame(1)];
  assert.deepEqual([first.apply.sources, first.problems, first.settings], [[], [], undefined]);
  assert.deepEqual([second.apply.based_on, second.apply.sources, second.problems.length], [first.apply.revision, ['file'], 1]);
});

test('sends the complete state when a source lists for the first time', async (t) => {
  const { dataplane, set } = await working(t, file('a.example'));
  await dataplane.frame(0);
  set(stateOf([sampleListing(['a.example']), sampleListing(['d.example'], { source: 'docker' })]));
  const second = await dataplane.frame(1);
  assert.deepEqual(
    [second.apply.based_on, second.apply.sources, domainsOf(second)],
    [null, ['docker', 'file'], ['a.example', 'd.example']],
  );
});

test('connects to a data plane once it becomes available', async (t) => {
  const away = new FakeDataplane();
  const address = await away.listen();
  await away.close();
  const { dataplane } = await working(t, file('a.example'));
  await dataplane.frame(0);
  const stopping = new AbortController();
  const reasons: string[] = [];
  const options = { token: undefined, identity: { controller: 'c', epoch: 1, reload: false }, clock: systemClock, random: systemRandom };
  const failed = Promise.withResolvers<void>();
  const pusher = new Pusher({
    ...options,
    address,
    state: () => file('z.example'),
    reload: async () => [],
    watch: (event) => {
      if (event.kind !== 'disconnected') return;
      reasons.push(event.reason);
      failed.resolve();
    },
    conditions: NONE,
    reached: new Reached([]),
  });
  const running = pusher.run(stopping.signal);
  await failed.promise;
  const back = new FakeDataplane();
  await back.listen(address.kind === 'tcp' ? address.port : 0);
  assert.deepEqual(domainsOf(await back.frame(0)), ['z.example']);
  assert.match(reasons[0] ?? '', /connection refused/);
  stopping.abort();
  await running;
  await back.close();
});

test('sends 100,000 routes completely, and then only a single changed one', async (t) => {
  const routes = Array.from({ length: 100_000 }, (_, at) => sampleRoute(`s${at}.example`));
  const { dataplane, set } = await working(t, stateOf([sampleListing(routes)]));
  assert.equal((await dataplane.frame(0)).routes.length, 100_000);
  set(stateOf([sampleListing([...routes.slice(1), sampleRoute('s0.example', '127.0.0.1:1')])]));
  assert.deepEqual(domainsOf(await dataplane.frame(1)), ['s0.example']);
});

/** Conditions of one route that can be made to fail. */
class Changing implements ConditionsSource {
  version = 1;
  private resolved = { holds: true, reason: 'a target is available', since: NOW };

  *list() {
    const accepted = { holds: true, reason: 'valid', since: NOW };
    yield { domain: 'a.example', source: 'file', accepted, resolved: this.resolved };
  }

  change(holds: boolean): void {
    this.version++;
    this.resolved = { holds, reason: holds ? 'a target is available' : 'no target is available', since: NOW };
  }
}

test('conditions are sent once a data plane has said that it accepts them, and when they change', async (t) => {
  const conditions = new Changing();
  const clock = new ManualClock();
  const { dataplane, wake } = await working(t, file('a.example'), undefined, { conditions, clock });
  dataplane.accepts = ['condition'];
  assert.deepEqual((await dataplane.frame(0)).conditions, []);
  const first = await dataplane.frame(1);
  assert.deepEqual(
    [first.routes, first.conditions.map(({ domains, resolved }) => [domains, resolved?.holds])],
    [[], [[['a.example'], true]]],
  );
  conditions.change(false);
  wake();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(dataplane.heard.length, 2, 'conditions are sent once a second at most');
  conditions.change(true);
  conditions.change(false);
  clock.pass(1_000);
  assert.deepEqual(
    (await dataplane.frame(2)).conditions.map(({ resolved }) => resolved?.holds),
    [false],
  );
});

test('a data plane that does not announce support for conditions gets none', async (t) => {
  const conditions = new Changing();
  const { dataplane, set } = await working(t, file('a.example'), undefined, { conditions });
  await dataplane.frame(0);
  conditions.change(false);
  set(file('a.example', 'b.example'));
  const { routes, conditions: sent } = await dataplane.frame(1);
  assert.deepEqual([domainsOf({ routes }), sent], [['b.example'], []]);
});

test('the complete state has all conditions again, as after a refusal', async (t) => {
  const conditions = new Changing();
  const { dataplane, set } = await working(t, file('a.example'), undefined, { conditions });
  dataplane.accepts = ['condition'];
  await dataplane.frame(1);
  let refused = 0;
  dataplane.answer = (frame) => (refused++ === 0 ? { refused: { error: 'stale', current: 1 } } : dataplane.applied(frame));
  set(file('a.example', 'b.example'));
  const { apply, conditions: sent } = await dataplane.frame(3);
  assert.deepEqual([apply.based_on, sent.length], [null, 1]);
});
