import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { RouteInput, RouteSpec } from '../../../shared/route.ts';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { bootId } from '../controllers/confirmation.ts';
import { restore } from '../disk/restore.ts';
import { LiveTable } from '../live-table.ts';
import { type KnownController, UnsavedError } from '../table.ts';
import { frameOf, routeOf, ServedRoutes } from '../testing/temporary-table.ts';
import { awaitControllers } from './await-controllers.ts';
import { initialRoutes } from './published-routes.ts';

const MINUTE = 60_000;
type Published = Pick<RouteSpec, 'upstreams' | 'hold_secs' | 'handles'>;

/** A table across restarts of its process and its machine, on a manual clock. */
class Machine {
  readonly clock = new ManualClock();
  readonly log = memoryLog();
  readonly folder = mkdtempSync(join(tmpdir(), 'sluice-unconfirmed-'));
  boot: string | null = 'first';
  publisher = new ServedRoutes();
  table!: LiveTable;

  static async start(): Promise<Machine> {
    const machine = new Machine();
    await machine.open();
    return machine;
  }

  async open(takenOver = false): Promise<void> {
    const restored = await restore(this.folder, this.clock, this.log, { boot: this.boot, takenOver });
    this.publisher = new ServedRoutes();
    this.table = new LiveTable({ restored, publisher: this.publisher, clock: this.clock, random: systemRandom });
    await this.publisher.publish({ routes: initialRoutes(restored) });
    awaitControllers(this.table, restored, this.clock, this.log)();
  }

  async restart(): Promise<void> {
    this.table.close();
    await this.open();
  }

  served(domain: string): Published {
    return JSON.parse(this.publisher.served.get(domain) ?? 'null');
  }

  /** `address state` of a route's targets as the workers have them. */
  targets(domain: string): string[] {
    return this.served(domain).upstreams.map(({ address, state }) => `${address} ${state}`);
  }

  /** Advances the clock and waits for everything that triggers. */
  async pass(ms: number): Promise<void> {
    this.clock.pass(ms);
    // The table makes changes in order, so when this one is done, earlier ones are too.
    await this.table.trust({ controller: 'nobody', source: 'nothing', routes: 0 });
  }

  [Symbol.dispose](): void {
    this.table.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A route of the controller `c` with one target that has an id. */
const container = (domain: string, address: string, more: Partial<RouteInput> = {}): RouteSpec =>
  routeOf(domain, address, { source: 'docker', upstreams: [{ address, id: `${domain} 1` }], ...more });

const docker = (revision: number, routes: readonly RouteSpec[], header: object = {}) =>
  frameOf({ revision, sources: ['docker'], ...header }, routes);

async function withContainer(): Promise<Machine> {
  const machine = await Machine.start();
  await machine.table.apply(docker(1, [container('a.test', '10.0.0.1:80')]));
  assert.deepEqual(machine.targets('a.test'), ['10.0.0.1:80 healthy']);
  return machine;
}

describe('a target with an id, after a restart', () => {
  test('is held back, with its requests for up to ten seconds, until its controller names it', async () => {
    using machine = await withContainer();
    await machine.restart();
    assert.deepEqual(machine.targets('a.test'), ['10.0.0.1:80 starting']);
    assert.equal(machine.served('a.test').hold_secs, 10);
    assert.equal(machine.table.unconfirmedRoutes, 1);
    const outcome = await machine.table.apply(docker(2, [container('a.test', '10.0.0.1:80')], { epoch: 2 }));
    assert.ok('applied' in outcome);
    assert.deepEqual(outcome.applied.results, [{ domain: 'a.test', result: 'unchanged' }]);
    assert.deepEqual(machine.targets('a.test'), ['10.0.0.1:80 healthy']);
    assert.equal(machine.served('a.test').hold_secs ?? null, null);
    assert.equal(machine.table.unconfirmedRoutes, 0);
  });

  test('is never used at its old address once its controller names a new one', async () => {
    using machine = await Machine.start();
    await machine.table.apply(docker(1, [container('a.test', '10.0.0.1:80'), container('b.test', '10.0.0.2:80')]));
    await machine.restart();
    assert.deepEqual([machine.targets('a.test'), machine.targets('b.test')], [['10.0.0.1:80 starting'], ['10.0.0.2:80 starting']]);
    const seen: string[] = [];
    const { publisher } = machine;
    const publish = publisher.publish.bind(publisher);
    publisher.publish = (change) => {
      for (const { json } of change.routes?.upserts ?? []) seen.push(json);
      return publish(change);
    };
    await machine.table.apply(docker(2, [container('a.test', '10.0.0.2:80'), container('b.test', '10.0.0.1:80')], { epoch: 2 }));
    await machine.pass(10 * MINUTE);
    assert.deepEqual([machine.targets('a.test'), machine.targets('b.test')], [['10.0.0.2:80 healthy'], ['10.0.0.1:80 healthy']]);
    assert.equal(seen.length, 2);
  });

  test('is used unconfirmed after two seconds within the same boot and ten minutes', async () => {
    using machine = await withContainer();
    machine.clock.pass(9 * MINUTE);
    await machine.restart();
    await machine.pass(1_999);
    assert.deepEqual(machine.targets('a.test'), ['10.0.0.1:80 starting']);
    await machine.pass(1);
    assert.deepEqual(machine.targets('a.test'), ['10.0.0.1:80 healthy']);
    assert.equal(machine.table.unconfirmedRoutes, 0);
  });

  for (const [why, happens, reason] of [
    ['after another boot', (machine: Machine) => (machine.boot = 'second'), 'the machine was restarted since'],
    ['after another start of the container', (machine: Machine) => (machine.boot = 'first 2'), 'this container was restarted since'],
    ['if the boot is unknown', (machine: Machine) => (machine.boot = null), 'whether the machine was restarted is unknown'],
    ['after eleven minutes', (machine: Machine) => machine.clock.pass(11 * MINUTE), 'their controller last confirmed them 11 minutes ago'],
    ['if the clock was set back', (machine: Machine) => machine.clock.pass(-MINUTE), 'the clock was set back since'],
  ] as const)
    test(`is not used unconfirmed ${why}`, async () => {
      using machine = await withContainer();
      happens(machine);
      await machine.restart();
      await machine.pass(10 * MINUTE);
      assert.deepEqual(machine.targets('a.test'), ['10.0.0.1:80 starting']);
      assert.partialDeepStrictEqual(machine.log.lines.at(-1)?.fields, { controller: 'c', source: 'docker', routes: 1, reason });
      await machine.table.apply(docker(2, [container('a.test', '10.0.0.1:80')], { epoch: 2 }));
      assert.deepEqual(machine.targets('a.test'), ['10.0.0.1:80 healthy']);
    });

  test('stays unconfirmed across any number of restarts', async () => {
    using machine = await withContainer();
    machine.boot = 'second';
    for (let times = 0; times < 3; times++) {
      await machine.restart();
      // A frame about another source, as while the engine can't be reached.
      await machine.table.apply(
        frameOf({ revision: times, epoch: 2 + times, sources: ['file'] }, [routeOf('f.test', 'f:1', { source: 'file' })]),
      );
      await machine.pass(3_000);
      assert.deepEqual(machine.targets('a.test'), ['10.0.0.1:80 starting']);
    }
  });

  test('is confirmed by an open stream, which is saved once a minute', async () => {
    using machine = await withContainer();
    const at = () => (machine.table.controllers()[0] as KnownController & { confirmed: { docker: { at: number } } }).confirmed.docker.at;
    const began = at();
    machine.clock.pass(MINUTE - 1);
    machine.table.noteSignOfLife('c');
    await machine.pass(0);
    assert.equal(at(), began);
    for (let seconds = 0; seconds < 20 * 60; seconds += 20) {
      machine.clock.pass(20_000);
      machine.table.noteSignOfLife('c');
      await machine.pass(0);
    }
    await machine.restart();
    assert.deepEqual(machine.targets('a.test'), ['10.0.0.1:80 starting']);
    await machine.pass(2_000);
    assert.deepEqual(machine.targets('a.test'), ['10.0.0.1:80 healthy']);
  });

  test('is confirmed by a repeated revision and by a delta to it', async () => {
    for (const again of [docker(1, [container('a.test', '10.0.0.1:80')]), docker(2, [], { based_on: 1 })]) {
      using machine = await withContainer();
      machine.boot = 'second';
      await machine.restart();
      assert.deepEqual(machine.targets('a.test'), ['10.0.0.1:80 starting']);
      assert.ok('applied' in (await machine.table.apply(again)));
      assert.deepEqual(machine.targets('a.test'), ['10.0.0.1:80 healthy']);
    }
  });

  test('is not confirmed by another controller, another source or a rejected line', async () => {
    using machine = await withContainer();
    machine.boot = 'second';
    await machine.restart();
    const route = container('a.test', '10.0.0.1:80');
    await machine.table.apply(docker(1, [route], { controller: 'other' }));
    await machine.table.apply(frameOf({ revision: 2, sources: ['file'] }, []));
    const rejected = [{ domain: 'a.test', source: 'docker', reason: 'upstream: no' }];
    await machine.table.apply({ ...docker(3, []), rejected });
    assert.deepEqual(machine.targets('a.test'), ['10.0.0.1:80 starting']);
  });

  test('is not confirmed by a controller that was restarted and has not listed its source yet', async () => {
    using machine = await withContainer();
    machine.boot = 'second';
    await machine.restart();
    const restarted = (revision: number, sources: string[], header: object = {}) =>
      frameOf({ revision, sources, epoch: 9_999, ...header }, []);
    await machine.table.apply(restarted(1, []));
    // The source has only failed so far, and is named because of that problem.
    assert.ok('applied' in (await machine.table.apply(restarted(2, ['docker'], { based_on: 1 }))));
    machine.table.noteSignOfLife('c');
    await machine.pass(10_000);
    assert.deepEqual(machine.targets('a.test'), ['10.0.0.1:80 starting']);
    await machine.table.apply({ ...restarted(3, ['docker']), routes: [container('a.test', '10.0.0.1:80')] });
    assert.deepEqual(machine.targets('a.test'), ['10.0.0.1:80 healthy']);
  });

  test('also waits while a manually posted route, which is served immediately, overrides its route', async () => {
    using machine = await withContainer();
    await machine.table.post(routeOf('a.test', '127.0.0.1:9', { upstreams: [{ address: '127.0.0.1:9', id: 'mine' }] }));
    machine.boot = 'second';
    await machine.restart();
    assert.deepEqual(machine.targets('a.test'), ['127.0.0.1:9 healthy']);
    assert.equal(machine.table.unconfirmedRoutes, 0);
    await machine.table.remove('a.test');
    assert.deepEqual(machine.targets('a.test'), ['10.0.0.1:80 starting']);
    assert.equal(machine.table.unconfirmedRoutes, 1);
  });

  test('also waits in a block of its site, and does not hold back targets without an id', async () => {
    using machine = await Machine.start();
    const handles = [
      { path: '/own/*', upstreams: [{ address: '10.0.0.3:80', id: 'own' }], hold_secs: 30 },
      { path: '/fixed/*', upstreams: [{ address: '127.0.0.1:3' }] },
      { path: '/site/*', hold_secs: 0 },
    ];
    const pool = [{ address: '10.0.0.1:80', id: 'a' }, { address: '127.0.0.1:1' }];
    await machine.table.apply(docker(1, [routeOf('a.test', '10.0.0.1:80', { source: 'docker', upstreams: pool, handles })]));
    await machine.restart();
    assert.deepEqual(machine.targets('a.test'), ['10.0.0.1:80 starting', '127.0.0.1:1 healthy']);
    const blocks = machine.served('a.test').handles.map(({ upstreams, hold_secs }) => [upstreams[0]?.state ?? 'site', hold_secs]);
    assert.deepEqual(blocks, [
      ['starting', 30],
      ['healthy', null],
      ['site', 10],
    ]);
  });

  test('is not probed into rotation before its controller has named it', async () => {
    using machine = await Machine.start();
    const upstreams = [{ address: '10.0.0.1:80', id: 'a', state: 'starting', probe: true }] as const;
    await machine.table.apply(docker(1, [container('a.test', '10.0.0.1:80', { upstreams: [...upstreams] })]));
    machine.boot = 'second';
    await machine.restart();
    assert.equal(machine.served('a.test').upstreams[0]?.probe, false);
    await machine.table.apply(docker(2, [container('a.test', '10.0.0.1:80', { upstreams: [...upstreams] })]));
    assert.equal(machine.served('a.test').upstreams[0]?.probe, true);
  });

  test('stays in use after a takeover, unless it was already unconfirmed before', async () => {
    using machine = await withContainer();
    machine.clock.pass(60 * MINUTE);
    const first = machine.table;
    await first.release();
    await machine.open(true);
    assert.deepEqual(machine.targets('a.test'), ['10.0.0.1:80 healthy']);
    first.close();
    machine.boot = 'second';
    await machine.restart();
    const second = machine.table;
    await second.release();
    await machine.open(true);
    second.close();
    await machine.pass(3_000);
    assert.deepEqual(machine.targets('a.test'), ['10.0.0.1:80 starting']);
    await machine.table.apply(docker(2, [container('a.test', '10.0.0.1:80')]));
    const third = machine.table;
    await third.release();
    await machine.open(true);
    third.close();
    assert.deepEqual(machine.targets('a.test'), ['10.0.0.1:80 healthy']);
  });

  test('that has no id is used immediately', async () => {
    using machine = await Machine.start();
    const route = routeOf('a.test', '127.0.0.1:1', { source: 'file', respond: { status: 200, body: '"id":"x"' } });
    await machine.table.apply(frameOf({}, [route]));
    machine.boot = 'second';
    await machine.restart();
    assert.equal(machine.table.unconfirmedRoutes, 0);
    assert.deepEqual(machine.targets('a.test'), ['127.0.0.1:1 healthy']);
    assert.deepEqual(machine.log.lines, []);
  });
});

test('a sign of life after the table was closed does not reopen it', async () => {
  using machine = await withContainer();
  machine.clock.pass(2 * MINUTE);
  const { table } = machine;
  await table.release();
  table.close();
  table.noteSignOfLife('c');
  await assert.rejects(table.trust({ controller: 'c', source: 'docker', routes: 1 }), UnsavedError);
  await machine.open();
  assert.equal(machine.table.counts().routes, 1);
});

test('the boot id is read from the kernel, and is null if there is none', () => {
  assert.match(bootId() ?? '', /^[0-9a-f-]{36}$/);
  assert.equal(bootId('/nowhere/boot_id'), null);
});
