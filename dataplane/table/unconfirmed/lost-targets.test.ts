import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteInput, RouteSpec } from '../../../shared/route.ts';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { Store } from '../disk/store.ts';
import { UnsavedError } from '../table.ts';
import { frameOf, routeOf, TemporaryTable } from '../testing/temporary-table.ts';
import { LostTargets } from './lost-targets.ts';

type Published = Pick<RouteSpec, 'upstreams' | 'hold_secs' | 'handles' | 'mirrors' | 'tls_passthrough'>;

/** A table whose controller `c` has had an open stream for a while. */
class World {
  readonly fixture: TemporaryTable;
  readonly clock = new ManualClock();
  readonly log = memoryLog();
  lost: LostTargets;

  private constructor(fixture: TemporaryTable) {
    this.fixture = fixture;
    this.lost = new LostTargets({ table: fixture.table, clock: this.clock, log: this.log });
  }

  static async start(...routes: readonly RouteSpec[]): Promise<World> {
    const world = new World(await TemporaryTable.start());
    await world.apply(1, routes);
    world.lost.controller('c', true);
    world.clock.pass(1_000);
    return world;
  }

  /** The controller has left. */
  static async unattended(...routes: readonly RouteSpec[]): Promise<World> {
    const world = await World.start(...routes);
    world.lost.controller('c', false);
    return world;
  }

  /** Another process takes over. */
  async takeOver(): Promise<void> {
    const { staying } = await this.fixture.takeOver(this.lost.stayingOnes());
    this.lost = new LostTargets({ table: this.fixture.table, clock: this.clock, log: this.log, staying });
  }

  async apply(revision: number, routes: readonly RouteSpec[], header: object = {}): Promise<void> {
    const outcome = await this.fixture.table.apply(frameOf({ revision, sources: ['docker'], ...header }, routes));
    assert.ok('applied' in outcome);
  }

  /** A connection to a container at this address was not accepted. */
  async lose(address: string, id: string): Promise<void> {
    this.lost.lost({ address, id });
    await this.settled();
  }

  /** The table makes changes in order, so when this one is done, earlier ones are too. */
  settled(): Promise<void> {
    return this.fixture.table.revise(() => Promise.resolve());
  }

  served(domain: string): Published {
    return JSON.parse(this.fixture.publisher.served.get(domain) ?? 'null');
  }

  /** `address id state` of a route's targets as the workers have them. */
  targets(domain: string): string[] {
    return this.served(domain).upstreams.map(({ address, id, state }) => `${address} ${id} ${state}`);
  }

  [Symbol.dispose](): void {
    this.fixture[Symbol.dispose]();
  }
}

const container = (domain: string, ids: readonly string[] = ['1'], more: Partial<RouteInput> = {}): RouteSpec =>
  routeOf(domain, `10.0.0.${ids[0]}:80`, {
    source: 'docker',
    upstreams: ids.map((id) => ({ address: `10.0.0.${id}:80`, id: `container ${id}` })),
    ...more,
  });

const IN = '10.0.0.1:80 container 1 healthy';
const OUT = '10.0.0.1:80 container 1 (lost) starting';

test('a container that does not accept connections while its controller is away gets no requests until it is confirmed, and they wait', async () => {
  using world = await World.unattended(container('a.test'), container('b.test', ['2']));
  await world.lose('10.0.0.1:80', 'container 1');
  assert.deepEqual(world.targets('a.test'), [OUT]);
  assert.equal(world.served('a.test').hold_secs, 10);
  assert.deepEqual(world.targets('b.test'), ['10.0.0.2:80 container 2 healthy']);
  assert.match(world.log.lines.at(-1)?.message ?? '', /while its controller is away: not used until it is confirmed/);
  await world.apply(2, [container('a.test'), container('b.test', ['2'])], { epoch: 2 });
  assert.deepEqual(world.targets('a.test'), [IN]);
  assert.equal(world.served('a.test').hold_secs ?? null, null);
});

test('only the container that was lost is out, and others of its pool are used', async () => {
  using world = await World.unattended(container('a.test', ['1', '2', '3']));
  await world.lose('10.0.0.1:80', 'container 1');
  await world.lose('10.0.0.3:80', 'container 3');
  assert.deepEqual(world.targets('a.test'), [OUT, '10.0.0.2:80 container 2 healthy', '10.0.0.3:80 container 3 (lost) starting']);
});

test('it is out wherever a route names it: in blocks, as a mirror, and for TLS that is passed on', async () => {
  const upstreams = [{ address: '10.0.0.1:80', id: 'container 1' }];
  using world = await World.unattended(
    container('a.test', ['2'], {
      handles: [{ path: '/api/*', upstreams }],
      mirrors: [{ upstreams }],
      tls_passthrough: [{ upstreams }],
    }),
  );
  await world.lose('10.0.0.1:80', 'container 1');
  const { handles, mirrors, tls_passthrough: passed } = world.served('a.test');
  const ids = [...handles, ...(mirrors ?? []), ...(passed ?? [])].flatMap((part) => part.upstreams.map(({ id }) => id));
  assert.deepEqual(ids, ['container 1 (lost)', 'container 1 (lost)', 'container 1 (lost)']);
  assert.equal(handles[0]?.hold_secs, 10);
  assert.deepEqual(world.targets('a.test'), ['10.0.0.2:80 container 2 healthy']);
});

test('a repeated revision and a delta confirm it, too', async () => {
  for (const again of [{ revision: 1 }, { revision: 2, based_on: 1 }]) {
    using world = await World.unattended(container('a.test'));
    await world.lose('10.0.0.1:80', 'container 1');
    assert.deepEqual(world.targets('a.test'), [OUT]);
    await world.apply(again.revision, again.revision === 1 ? [container('a.test')] : [], again);
    assert.deepEqual(world.targets('a.test'), [IN]);
  }
});

test('nothing is taken out while the controller is connected, which knows more', async () => {
  using world = await World.start(container('a.test'));
  await world.lose('10.0.0.1:80', 'container 1');
  assert.deepEqual(world.targets('a.test'), [IN]);
});

test('what was lost in the last second before it left is out, but not what was lost earlier', async () => {
  using world = await World.start(container('a.test', ['1', '2']));
  await world.lose('10.0.0.2:80', 'container 2');
  world.clock.pass(1_001);
  await world.lose('10.0.0.1:80', 'container 1');
  world.clock.pass(1_000);
  world.lost.controller('c', false);
  await world.settled();
  assert.deepEqual(world.targets('a.test'), [OUT, '10.0.0.2:80 container 2 healthy']);
});

test('a controller whose stream ends at once, as that of a script, is not awaited', async () => {
  using world = await World.start(container('a.test'));
  await world.apply(1, [routeOf('s.test', '10.0.0.9:80', { source: 's', upstreams: [{ address: '10.0.0.9:80', id: 'nine' }] })], {
    controller: 'script',
    sources: ['s'],
  });
  world.lost.controller('script', true);
  world.clock.pass(999);
  world.lost.controller('script', false);
  await world.lose('10.0.0.9:80', 'nine');
  assert.deepEqual(world.targets('s.test'), ['10.0.0.9:80 nine healthy']);
});

test('containers of another controller, which is connected, stay in use', async () => {
  using world = await World.unattended(container('a.test'));
  await world.apply(1, [routeOf('o.test', '10.0.0.9:80', { source: 'o', upstreams: [{ address: '10.0.0.9:80', id: 'nine' }] })], {
    controller: 'other',
    sources: ['o'],
  });
  world.lost.controller('other', true);
  await world.lose('10.0.0.9:80', 'nine');
  assert.deepEqual(world.targets('o.test'), ['10.0.0.9:80 nine healthy']);
  world.clock.pass(1_000);
  world.lost.controller('other', false);
  await world.lose('10.0.0.9:80', 'nine');
  assert.deepEqual(world.targets('o.test'), ['10.0.0.9:80 nine (lost) starting']);
});

test('the controller that is back knows more again', async () => {
  using world = await World.unattended(container('a.test'));
  world.lost.controller('c', true);
  await world.lose('10.0.0.1:80', 'container 1');
  assert.deepEqual(world.targets('a.test'), [IN]);
});

test('a controller that is back without having listed its containers is still away for them', async () => {
  using world = await World.unattended(container('a.test'), container('b.test', ['2']));
  await world.apply(1, [], { epoch: 2, sources: [] });
  world.lost.controller('c', true);
  await world.lose('10.0.0.1:80', 'container 1');
  assert.deepEqual(world.targets('a.test'), [OUT]);
  await world.apply(2, [container('a.test'), container('b.test', ['2'])], { epoch: 2 });
  assert.deepEqual(world.targets('a.test'), [IN]);
  await world.lose('10.0.0.1:80', 'container 1');
  assert.deepEqual(world.targets('a.test'), [IN]);
});

test('a loss from before the frame of a controller that is back does not take effect after it', async () => {
  using world = await World.unattended(container('a.test'));
  const applied = world.apply(1, [container('a.test')], { epoch: 2 });
  await world.lose('10.0.0.1:80', 'container 1');
  await applied;
  world.lost.controller('c', true);
  await world.settled();
  assert.deepEqual(world.targets('a.test'), [IN]);
});

test('the same holds for a frame that repeats the last one, after which the controller sends nothing more', async () => {
  using world = await World.unattended(container('a.test'));
  await world.apply(1, [container('a.test')]);
  await world.lose('10.0.0.1:80', 'container 1');
  world.lost.controller('c', true);
  await world.settled();
  assert.deepEqual(world.targets('a.test'), [IN]);
});

test('what was lost long before the next run of a controller replaces the stream of the last one stays in use', async () => {
  using world = await World.unattended(container('a.test'), container('b.test', ['2']));
  await world.apply(2, [container('a.test'), container('b.test', ['2'])]);
  world.lost.controller('c', true);
  await world.lose('10.0.0.2:80', 'container 2');
  world.clock.pass(1_001);
  await world.apply(1, [], { epoch: 2, sources: [] });
  await world.lose('10.0.0.1:80', 'container 1');
  assert.deepEqual(world.targets('a.test'), [OUT]);
  assert.deepEqual(world.targets('b.test'), ['10.0.0.2:80 container 2 healthy']);
});

test('what is out already, and is used by another route, is neither taken out nor logged again', async () => {
  using world = await World.unattended(container('a.test'));
  const { publisher, table } = world.fixture;
  await world.lose('10.0.0.1:80', 'container 1');
  const { length } = world.log.lines;
  const json = publisher.served.get('a.test');
  publisher.served.clear();
  await world.lose('10.0.0.1:80', 'container 1');
  assert.deepEqual([...publisher.served.keys()], []);
  assert.equal(world.log.lines.length, length);
  // Nor looked for.
  const { revise } = table;
  let revisions = 0;
  table.revise = (revision) => {
    revisions++;
    return revise.call(table, revision);
  };
  await world.lose('10.0.0.1:80', 'container 1');
  assert.equal(revisions, 1, 'that of the test');
  table.revise = revise;
  await world.apply(1, [container('a.test')]);
  assert.notEqual(publisher.served.get('a.test'), json);
  world.lost.controller('c', true);
  world.lost.controller('c', false);
  await world.lose('10.0.0.1:80', 'container 1');
  assert.deepEqual(world.targets('a.test'), [OUT], 'after it was confirmed, it counts again');
});

test('what is lost is out, too, while nothing can be saved, and nothing is said about the disk', async (t) => {
  using world = await World.unattended(container('a.test'));
  t.mock.method(Store.prototype, 'save', () => Promise.reject(new UnsavedError('the disk is full')));
  await world.lose('10.0.0.1:80', 'container 1');
  assert.deepEqual(world.targets('a.test'), [OUT]);
  assert.ok(world.log.lines.every(({ level }) => level !== 'error'));
});

test('that the table can’t be changed is said once until it can, and what was lost meanwhile is forgotten', async () => {
  using world = await World.unattended(container('a.test', ['1', '2']));
  const failures = () => world.log.lines.filter(({ level }) => level === 'error').length;
  for (const said of [1, 2]) {
    world.fixture.table.refuse();
    for (let times = 0; times < 3; times++) await assert.rejects(world.lose('10.0.0.2:80', 'container 2'), UnsavedError);
    assert.equal(failures(), said);
    world.fixture.table.reclaim();
    await world.lose('10.0.0.1:80', 'container 1');
    assert.deepEqual(world.targets('a.test'), [OUT, '10.0.0.2:80 container 2 healthy']);
    await world.apply(said + 1, [container('a.test', ['1', '2'])]);
    world.lost.controller('c', false);
  }
});

test('a controller whose stream never ended is away once its next run has replaced that, until it has listed its containers', async () => {
  using world = await World.start(container('a.test'), container('b.test', ['2']));
  await world.apply(1, [], { epoch: 2, sources: [] });
  await world.lose('10.0.0.1:80', 'container 1');
  assert.deepEqual(world.targets('a.test'), [OUT]);
  await world.apply(2, [container('a.test'), container('b.test', ['2'])], { epoch: 2 });
  assert.deepEqual(world.targets('a.test'), [IN]);
  await world.lose('10.0.0.2:80', 'container 2');
  assert.deepEqual(world.targets('b.test'), ['10.0.0.2:80 container 2 healthy']);
});

test('after a takeover, what was lost stays out until it is confirmed, also after another one', async () => {
  using world = await World.unattended(container('a.test', ['1', '2']), container('b.test', ['2']));
  await world.lose('10.0.0.1:80', 'container 1');
  for (let times = 0; times < 2; times++) {
    await world.takeOver();
    assert.deepEqual(world.targets('a.test'), [OUT, '10.0.0.2:80 container 2 healthy']);
    assert.equal(world.served('a.test').hold_secs, 10);
    assert.deepEqual(world.targets('b.test'), ['10.0.0.2:80 container 2 healthy']);
  }
  await world.apply(2, [container('a.test', ['1', '2']), container('b.test', ['2'])], { epoch: 2 });
  assert.deepEqual(world.targets('a.test'), [IN, '10.0.0.2:80 container 2 healthy']);
  await world.takeOver();
  assert.deepEqual(world.targets('a.test'), [IN, '10.0.0.2:80 container 2 healthy']);
});

test('what was lost and confirmed before a takeover that failed is in use after the next one', async () => {
  using world = await World.unattended(container('a.test'));
  await world.lose('10.0.0.1:80', 'container 1');
  await world.fixture.table.release();
  world.fixture.table.reclaim();
  await world.apply(1, [container('a.test')]);
  assert.deepEqual(world.targets('a.test'), [IN]);
  await world.takeOver();
  assert.deepEqual(world.targets('a.test'), [IN]);
});

test('a full disk prevents a takeover only if the successor would use what is lost', async (t) => {
  using world = await World.start(container('a.test'));
  const { table } = world.fixture;
  const release = async (): Promise<void> => {
    const { mock: full } = t.mock.method(Store.prototype, 'save', () => Promise.reject(new UnsavedError('the disk is full')));
    await table.release(world.lost.stayingOnes()).finally(() => full.restore());
    table.reclaim();
  };
  await release();
  world.lost.controller('c', false);
  await world.lose('10.0.0.1:80', 'container 1');
  await assert.rejects(release(), /the disk is full/);
  await table.release();
  table.reclaim();
  await release();
  await world.takeOver();
  assert.deepEqual(world.targets('a.test'), [OUT]);
});

test('after a takeover, a controller that had been there is away until it has listed its containers', async () => {
  for (const leavesBefore of [false, true]) {
    using world = await World.start(container('a.test'), container('b.test', ['2']));
    if (leavesBefore) world.lost.controller('c', false);
    await world.takeOver();
    await world.apply(1, [], { epoch: 2, sources: [] });
    world.lost.controller('c', true);
    await world.lose('10.0.0.1:80', 'container 1');
    assert.deepEqual(world.targets('a.test'), [OUT]);
    await world.apply(2, [container('a.test'), container('b.test', ['2'])], { epoch: 2 });
    await world.lose('10.0.0.2:80', 'container 2');
    assert.deepEqual(world.targets('b.test'), ['10.0.0.2:80 container 2 healthy']);
  }
});

test('after a takeover, a controller whose stream had ended at once is not awaited', async () => {
  using world = await World.start();
  await world.apply(2, [container('a.test')]);
  world.lost = new LostTargets({ table: world.fixture.table, clock: world.clock, log: world.log });
  world.lost.controller('c', true);
  await world.takeOver();
  await world.lose('10.0.0.1:80', 'container 1');
  assert.deepEqual(world.targets('a.test'), [IN]);
});
