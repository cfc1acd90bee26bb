import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RunPlan, ToChild, ToParent } from '../runtime/process/parent.ts';
import { ManualClock } from '../runtime/testing/manual-clock.ts';
import type { Child, ChildEvents, Launch } from './child.ts';
import { Pair, type Planner } from './pair.ts';

const PLAN: RunPlan = { dataplane: ['--a'], controller: ['--b'], env: { PORT: '1' }, takeover: false };

const UPGRADED: ToChild = { kind: 'upgraded', upgraded: { old: { version: '1', pid: 1 }, new: { version: '2', pid: 9 } } };

/** A simulated process. */
class Played implements Child {
  readonly launch: Launch;
  readonly pid: number;
  readonly signals: string[] = [];
  lastWords = '';
  private readonly events: ChildEvents;

  constructor(launch: Launch, events: ChildEvents, pid: number) {
    this.launch = launch;
    this.events = events;
    this.pid = pid;
  }

  readonly messages: ToChild[] = [];

  send(message: ToChild): void {
    this.signals.push('message');
    this.messages.push(message);
  }

  signal(signal: string): void {
    this.signals.push(signal);
  }

  says(message: ToParent): void {
    this.events.received(message);
  }

  async ends(code: number): Promise<void> {
    this.events.ended(code);
    await settled();
  }
}

/** Waits until everything that was resolved has taken effect. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 5; turns++) await nextTurn();
}

type Scene = { readonly ownPlanner?: Planner; readonly hasOneCore?: boolean };

/** A pair of simulated processes. */
function scene({ ownPlanner, hasOneCore = false }: Scene = {}) {
  const clock = new ManualClock();
  const started: Played[] = [];
  const heard: string[] = [];
  const ended: number[] = [];
  const reports: string[] = [];
  const pair = new Pair(
    { launcher: '/sluice', argv: ['run', '--x'] },
    { received: ({ kind }) => heard.push(kind), ended: (code) => ended.push(code) },
    {
      clock,
      random: { fraction: () => 0 },
      report: (_, message) => reports.push(message),
      start: (launch, events) => {
        const child = new Played(launch, events, started.length + 1);
        started.push(child);
        return child;
      },
    },
    { ownPlanner: ownPlanner ?? null, hasOneCore },
  );
  const newest = (command: string): Played =>
    started.findLast(({ launch: { argv } }) => argv[0] === command) ?? assert.fail(`no ${command} was started`);
  /** The newest planner sends a plan and ends. */
  const plan = async (plan: RunPlan): Promise<void> => {
    newest('run').says({ kind: 'plan', plan });
    await newest('run').ends(0);
  };
  return { clock, pair, started, heard, ended, newest, plan, reports };
}

/** Tells the data plane that a process which serves by now has taken over. */
const RESTARTED = { SLUICE_RESTARTED: '1' };

test('the launcher plans how both processes are started, and starts them', async () => {
  const { started, plan } = scene();
  await plan(PLAN);
  assert.deepEqual(
    started.map(({ launch }) => launch),
    [
      { launcher: '/sluice', argv: ['run', '--x'] },
      { launcher: '/sluice', argv: ['dataplane', '--a'], env: { PORT: '1' } },
      { launcher: '/sluice', argv: ['controller', '--b'] },
    ],
  );
});

test('on one core the controller starts when the data plane serves, and not at all if it fails to start', async () => {
  const { started, newest, plan } = scene({ hasOneCore: true });
  const commands = () => started.map(({ launch: { argv } }) => argv[0]);
  await plan(PLAN);
  assert.deepEqual(commands(), ['run', 'dataplane']);
  newest('dataplane').says({ kind: 'serving', version: '1' });
  await settled();
  assert.deepEqual(commands(), ['run', 'dataplane', 'controller']);

  const failing = scene({ hasOneCore: true });
  await failing.plan(PLAN);
  await failing.newest('dataplane').ends(2);
  assert.deepEqual(failing.ended, [2]);
  assert.deepEqual(
    failing.started.map(({ launch: { argv } }) => argv[0]),
    ['run', 'dataplane'],
  );
});

/** A planner that plans when it is told to. */
function ownPlanner() {
  const { promise, resolve, reject } = Promise.withResolvers<RunPlan | null>();
  const asked: (readonly string[])[] = [];
  const planner: Planner = (argv) => {
    asked.push(argv);
    return promise;
  };
  const settle = async (act: () => void): Promise<void> => {
    act();
    await settled();
  };
  return {
    ...{ planner, asked },
    plans: (plan: RunPlan | null) => settle(() => resolve(plan)),
    fails: () => settle(() => reject(new Error('unknown flag'))),
  };
}

test('the first start of its own version is planned here, while the data plane loads its code', async () => {
  const { planner, asked, plans } = ownPlanner();
  const { started, newest, heard } = scene({ ownPlanner: planner });
  assert.deepEqual(
    started.map(({ launch }) => launch),
    [{ launcher: '/sluice', argv: ['dataplane'], env: { SLUICE_AWAITS_START: '1' } }],
  );
  assert.deepEqual(asked, [['--x']]);
  await plans(PLAN);
  assert.deepEqual(newest('dataplane').messages, [{ kind: 'start', flags: ['--a'], env: { PORT: '1' } }]);
  assert.deepEqual(
    started.map(({ launch: { argv } }) => argv[0]),
    ['dataplane', 'controller'],
  );
  newest('dataplane').says({ kind: 'serving', version: '1' });
  assert.deepEqual(heard, ['serving']);
});

test('what can’t be planned here is planned by a process, which reports why', async () => {
  for (const outcome of ['fails', 'nothing'] as const) {
    const own = ownPlanner();
    const { newest, started, ended } = scene({ ownPlanner: own.planner });
    await (outcome === 'fails' ? own.fails() : own.plans(null));
    assert.deepEqual(newest('run').launch, { launcher: '/sluice', argv: ['run', '--x'] });
    await newest('run').ends(2);
    assert.deepEqual(newest('dataplane').signals, ['SIGKILL']);
    assert.deepEqual([started.length, ended], [2, [2]]);
  }
});

test('a process also plans the start after a crash, since another version may be installed by then', async () => {
  const own = ownPlanner();
  const { started, clock, newest, plan } = scene({ ownPlanner: own.planner });
  await own.plans(PLAN);
  newest('dataplane').says({ kind: 'serving', version: '1' });
  await newest('dataplane').ends(1);
  await plan({ ...PLAN, dataplane: ['--c'] });
  clock.pass(60_000);
  await settled();
  assert.deepEqual(started.at(-1)?.launch, { launcher: '/sluice', argv: ['dataplane', '--c'], env: { PORT: '1', ...RESTARTED } });
  assert.equal(own.asked.length, 1);
});

test('another data plane is started if the one that waits for its flags has ended', async () => {
  const own = ownPlanner();
  const { newest, ended } = scene({ ownPlanner: own.planner });
  await newest('dataplane').ends(129);
  await own.plans(PLAN);
  assert.deepEqual(newest('dataplane').launch.argv, ['dataplane', '--a']);
  assert.deepEqual(ended, []);
});

test('a data plane that waits for its flags is ended if the pair is stopped before there is a plan', async () => {
  for (const outcome of ['plans', 'fails'] as const) {
    const own = ownPlanner();
    const { pair, newest, started, ended } = scene({ ownPlanner: own.planner });
    pair.signal('SIGTERM');
    await (outcome === 'plans' ? own.plans(PLAN) : own.fails());
    assert.deepEqual(newest('dataplane').signals, ['SIGKILL']);
    assert.deepEqual(newest('dataplane').messages, []);
    assert.deepEqual([started.length, ended], [1, [0]]);
  }
});

test('without a plan nothing is started, and the exit code is that of the planner', async () => {
  for (const code of [0, 2]) {
    const { newest, started, ended } = scene();
    await newest('run').ends(code);
    assert.deepEqual([started.length, ended], [1, [code]]);
  }
});

test('a data plane is planned again before it is restarted; without a new plan the last one counts', async () => {
  const { clock, newest, plan, started } = scene();
  await plan(PLAN);
  newest('dataplane').says({ kind: 'serving', version: '1' });
  await newest('dataplane').ends(1);
  await plan({ ...PLAN, env: { PORT: '2' } });
  clock.pass(5_000);
  await settled();
  assert.deepEqual(newest('dataplane').launch.env, { PORT: '2', ...RESTARTED });
  await newest('dataplane').ends(1);
  await newest('run').ends(2);
  clock.pass(5_000);
  await settled();
  assert.deepEqual(newest('dataplane').launch.env, { PORT: '2', ...RESTARTED });
  assert.equal(started.filter(({ launch: { argv } }) => argv[0] === 'controller').length, 1);
});

test('a restart that can’t be planned in time, as with a config file that can’t be read, is one as before', async () => {
  const { newest, plan, clock, reports, started, pair } = scene();
  await plan(PLAN);
  const first = newest('dataplane');
  first.says({ kind: 'serving', version: '1' });
  await first.ends(137);
  const planner = newest('run');
  clock.pass(9_000);
  await settled();
  assert.deepEqual([newest('dataplane') === first, planner.signals], [true, []]);
  clock.pass(1_000);
  await settled();
  assert.deepEqual(planner.signals, ['SIGKILL']);
  assert.deepEqual(newest('dataplane').launch, { ...first.launch, env: { ...first.launch.env, ...RESTARTED } });
  assert.match(reports.at(-1) ?? '', /could not be planned in time/);
  await planner.ends(137);
  // The next one is planned again.
  await newest('dataplane').ends(137);
  assert.notEqual(newest('run'), planner);
  pair.signal('SIGTERM');
  assert.deepEqual(newest('run').signals, ['SIGTERM']);
  assert.equal(started.filter(({ launch: { argv } }) => argv[0] === 'dataplane').length, 2);
});

test('the controller goes on until the data plane has begun to drain', async () => {
  const { pair, newest, plan, ended, heard } = scene();
  await plan(PLAN);
  pair.signal('SIGTERM');
  assert.deepEqual([newest('dataplane').signals, newest('controller').signals], [['SIGTERM'], []]);
  newest('dataplane').says({ kind: 'draining' });
  assert.deepEqual(heard, ['draining'], 'the parent is told, too');
  assert.deepEqual(newest('controller').signals, ['SIGTERM']);
  await newest('controller').ends(0);
  await newest('dataplane').ends(0);
  assert.deepEqual(ended, [0]);
});

test('a controller that does not exit is killed after a while, so that the service and an old pair end', async () => {
  for (const stop of [(pair: Pair) => pair.signal('SIGTERM'), (pair: Pair) => pair.send(UPGRADED)]) {
    const { pair, newest, plan, ended, clock, reports } = scene();
    await plan(PLAN);
    newest('dataplane').says({ kind: 'serving', version: '1' });
    stop(pair);
    newest('dataplane').says({ kind: 'draining' });
    await newest('dataplane').ends(0);
    const controller = newest('controller');
    clock.pass(4_999);
    assert.ok(!controller.signals.includes('SIGKILL'));
    clock.pass(1);
    assert.ok(controller.signals.includes('SIGKILL'));
    await controller.ends(137);
    assert.deepEqual([ended, reports.at(-1)], [[0], 'the controller did not exit in time and is killed']);
  }
});

test('a second TERM ends both at once, with exit code 1 and without a report of a crash', async () => {
  for (const order of [
    ['dataplane', 'controller'],
    ['controller', 'dataplane'],
  ]) {
    const { pair, newest, plan, started, ended, reports } = scene();
    await plan(PLAN);
    const before = started.length;
    pair.signal('SIGTERM');
    pair.signal('SIGTERM');
    for (const name of order) {
      assert.ok(newest(name).signals.includes('SIGKILL'), name);
      await newest(name).ends(137);
    }
    assert.deepEqual([ended, reports, started.length], [[1], [], before]);
  }
});

test('TERM before there is a plan ends the planner, and nothing is started', async () => {
  const { pair, newest, started, ended } = scene();
  pair.signal('SIGTERM');
  assert.deepEqual(newest('run').signals, ['SIGTERM']);
  await newest('run').ends(143);
  assert.deepEqual([started.length, ended], [1, [143]]);
});

test('HUP reaches only the controller, USR2 only the data plane, once they handle it, and neither a planner, which they would end', async () => {
  const { pair, newest, plan, clock } = scene();
  for (const signal of ['SIGHUP', 'SIGUSR2'] as const) pair.signal(signal);
  assert.deepEqual(newest('run').signals, []);
  await plan(PLAN);
  pair.signal('SIGUSR2');
  assert.deepEqual(newest('dataplane').signals, []);
  newest('dataplane').says({ kind: 'serving', version: '1' });
  assert.deepEqual(newest('dataplane').signals, ['SIGUSR2']);
  for (const signal of ['SIGHUP', 'SIGUSR2'] as const) pair.signal(signal);
  assert.deepEqual([newest('controller').signals, newest('dataplane').signals], [[], ['SIGUSR2', 'SIGUSR2']]);
  newest('controller').says({ kind: 'serving', version: '1' });
  assert.deepEqual(newest('controller').signals, ['SIGHUP']);
  pair.signal('SIGHUP');
  assert.equal(newest('controller').signals.length, 2);
  await newest('controller').ends(1);
  clock.pass(10_000);
  await settled();
  pair.signal('SIGHUP');
  assert.deepEqual(newest('controller').signals, []);
  // One of an older version does not report that.
  clock.pass(10_000);
  assert.deepEqual(newest('controller').signals, ['SIGHUP']);
});

test('a successor’s controller starts once its data plane serves, and an old pair ends when its data plane has handed over', async () => {
  const { newest, plan, started, heard, ended } = scene();
  await plan({ ...PLAN, takeover: true });
  assert.equal(started.length, 2);
  newest('dataplane').says({ kind: 'serving', version: '2' });
  await settled();
  assert.equal(started.length, 3);
  newest('dataplane').says({ kind: 'handed-over' });
  assert.deepEqual(newest('controller').signals, ['SIGTERM']);
  await newest('controller').ends(0);
  await newest('dataplane').ends(86);
  assert.deepEqual([heard, ended], [['serving', 'handed-over'], [0]]);
});

test('an old pair whose data plane died during an upgrade starts none again once its successor serves', async () => {
  const starting = scene();
  await starting.plan(PLAN);
  starting.newest('dataplane').says({ kind: 'serving', version: '1' });
  await starting.newest('dataplane').ends(137);
  await starting.plan(PLAN);
  starting.clock.pass(1_000);
  await settled();
  const again = starting.newest('dataplane');
  assert.equal(starting.started.filter(({ launch: { argv } }) => argv[0] === 'dataplane').length, 2);
  starting.pair.send(UPGRADED);
  assert.deepEqual([again.signals, starting.newest('controller').signals], [['SIGTERM'], ['SIGTERM']]);
  await again.ends(143);
  await starting.newest('controller').ends(0);
  starting.clock.pass(60_000);
  await settled();
  assert.deepEqual([starting.ended, starting.newest('dataplane') === again], [[0], true]);

  const waiting = scene();
  await waiting.plan(PLAN);
  const first = waiting.newest('dataplane');
  first.says({ kind: 'serving', version: '1' });
  await first.ends(137);
  await waiting.plan(PLAN);
  waiting.pair.send(UPGRADED);
  await waiting.newest('controller').ends(0);
  waiting.clock.pass(60_000);
  await settled();
  assert.deepEqual([waiting.ended, waiting.newest('dataplane') === first], [[0], true]);
});

test('a pair whose data plane has ended is still known by its process id, as what an old process has handed over to', async () => {
  const { newest, pair, plan } = scene();
  await plan({ ...PLAN, takeover: true });
  const { pid } = newest('dataplane');
  await newest('dataplane').ends(137);
  assert.equal(pair.pid, pid);
});

test('an old pair whose data plane serves is left to hand over', async () => {
  const { newest, pair, plan } = scene();
  await plan(PLAN);
  newest('dataplane').says({ kind: 'serving', version: '1' });
  newest('dataplane').says({ kind: 'upgrade', launcher: '/next' });
  pair.send(UPGRADED);
  assert.deepEqual(newest('dataplane').signals, ['message']);
});

test('only the process that requested an upgrade gets its outcome, once', async () => {
  const { newest, pair, plan, clock } = scene();
  await plan(PLAN);
  const refuse = (reason: string): void => pair.send({ kind: 'not-upgraded', reason });
  const first = newest('dataplane');
  first.says({ kind: 'serving', version: '1' });
  first.says({ kind: 'upgrade', launcher: '/next' });
  await first.ends(137);
  clock.pass(10_000);
  await settled();
  await plan(PLAN);
  const second = newest('dataplane');
  assert.notEqual(second, first);
  refuse('of the request of the first');
  second.says({ kind: 'upgrade', launcher: '/next' });
  refuse('another one is under way');
  refuse('of that other one');
  assert.deepEqual(second.messages, [{ kind: 'not-upgraded', reason: 'another one is under way' }]);
});

test('if one fails to start, the other is stopped, and its exit code and last words are those of the pair', async () => {
  const { pair, newest, plan, ended } = scene();
  await plan(PLAN);
  newest('controller').lastWords = 'the port is in use';
  await newest('controller').ends(2);
  assert.deepEqual(newest('dataplane').signals, ['SIGTERM']);
  await newest('dataplane').ends(0);
  assert.deepEqual([ended, pair.lastWords], [[2], 'the port is in use']);
});
