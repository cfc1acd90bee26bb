import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ToParent, UpgradeOutcome } from '../runtime/process/parent.ts';
import { ManualClock } from '../runtime/testing/manual-clock.ts';
import type { ChildEvents, Launch } from './child.ts';
import { Parent } from './parent.ts';

/** A child controlled by the test. */
class Played {
  readonly launch: Launch;
  /** Changes if a pair restarts its data plane. */
  pid: number;
  readonly signals: string[] = [];
  readonly told: UpgradeOutcome[] = [];
  lastWords = '';
  private readonly events: ChildEvents;

  constructor(launch: Launch, events: ChildEvents, pid: number) {
    this.launch = launch;
    this.events = events;
    this.pid = pid;
  }

  send(outcome: UpgradeOutcome): void {
    this.told.push(outcome);
  }

  signal(signal: string): void {
    this.signals.push(signal);
  }

  says(message: ToParent): this {
    this.events.received(message);
    return this;
  }

  serves(version = '1'): this {
    return this.says({ kind: 'serving', version });
  }

  ends(code: number): void {
    this.events.ended(code);
  }
}

/** A parent with simulated children, and what it sends to the service manager and the log. */
function scene({ argv = ['dataplane'], staysBehind = false } = {}) {
  const clock = new ManualClock();
  const children: Played[] = [];
  const told: string[] = [];
  const reports: string[] = [];
  const word = (name: string) => () => void told.push(name);
  const parent = new Parent(
    { launcher: '/old/sluice', argv },
    {
      clock,
      random: { fraction: () => 0 },
      start: (launch, events) => {
        const child = new Played(launch, events, children.length + 1);
        children.push(child);
        return child;
      },
      manager: { ready: word('ready'), reloading: word('reloading'), stopping: word('stopping') },
      report: (_, message) => void reports.push(message),
      staysBehind,
    },
  );
  const scene = {
    parent,
    clock,
    children,
    told,
    reports,
    exit: null as number | null,
    nth: (n: number) => children[n - 1] ?? assert.fail(),
  };
  void parent.run().then((code) => {
    scene.exit = code;
  });
  return scene;
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
const handedOverTo = (pid: number): ToParent => ({ kind: 'handed-over', successor: { version: '2', pid } });
const RESTARTED = { SLUICE_RESTARTED: '1' };
const UPGRADE: ToParent = { kind: 'upgrade', launcher: '/new/sluice' };

test('a failed first start ends the parent with the child’s exit code', async () => {
  for (const code of [0, 1, 2, 134]) {
    const play = scene();
    play.nth(1).ends(code);
    await settled();
    assert.deepEqual([play.exit, play.children.length], [code, 1]);
  }
});

test('a usage error right after the first child began to serve ends the parent: its other part could not start', async () => {
  const play = scene();
  play.nth(1).serves();
  play.clock.pass(10_000);
  play.nth(1).ends(2);
  await settled();
  assert.deepEqual([play.exit, play.children.length], [2, 1]);
});

test('a usage error of a child that has served for longer, or that is not the first, is a reason to restart it', () => {
  const late = scene();
  late.nth(1).serves();
  late.clock.pass(10_001);
  late.nth(1).ends(2);
  late.clock.pass(1_000);
  assert.deepEqual([late.exit, late.children.length], [null, 2]);
  const second = scene();
  second.nth(1).serves().ends(137);
  second.clock.pass(1_000);
  second.nth(2).serves().ends(2);
  second.clock.pass(1_000);
  assert.deepEqual([second.exit, second.children.length], [null, 3]);
});

test('a child that has served is restarted, with a growing delay that resets after a long run', () => {
  const play = scene();
  play.nth(1).serves().ends(137);
  for (const [pause, child] of [
    [100, 2],
    [200, 3],
    [400, 4],
  ] as const) {
    play.clock.pass(pause - 1);
    assert.equal(play.children.length, child - 1);
    play.clock.pass(1);
    assert.deepEqual(play.nth(child).launch.env, RESTARTED);
    play.nth(child).ends(2);
  }
  play.clock.pass(800);
  play.nth(5).serves();
  play.clock.pass(20_000);
  play.nth(5).ends(134);
  play.clock.pass(100);
  assert.equal(play.children.length, 6);
  assert.equal(play.exit, null);
});

test('the first stop lets every process drain and returns the exit code; the second one ends them at once', async () => {
  const play = scene();
  play.nth(1).serves();
  play.parent.stop();
  play.parent.stop();
  play.clock.pass(2_000);
  assert.deepEqual(play.nth(1).signals, ['SIGTERM', 'SIGTERM', 'SIGKILL']);
  assert.equal(play.exit, null);
  play.nth(1).ends(1);
  await settled();
  assert.equal(play.exit, 1);
  assert.deepEqual(play.told, ['ready', 'stopping']);
});

test('a parent stopped between two starts exits at once with 0', async () => {
  const play = scene();
  play.nth(1).serves().ends(139);
  play.parent.stop();
  play.clock.pass(10_000);
  await settled();
  assert.deepEqual([play.exit, play.children.length], [0, 1]);
});

test('a child stopped while it starts counts as an intended exit', async () => {
  const play = scene();
  play.parent.stop();
  play.nth(1).ends(143);
  await settled();
  assert.equal(play.exit, 0);
});

test('other signals are passed to the serving child', () => {
  const play = scene();
  play.nth(1).serves().says(UPGRADE);
  play.parent.signal('SIGHUP');
  play.nth(2).serves();
  play.parent.signal('SIGHUP');
  assert.deepEqual([play.nth(1).signals, play.nth(2).signals], [['SIGHUP'], ['SIGHUP']]);
});

test('a process that does not serve yet is not ended by signals that it does not handle yet, but reopens its logs when it serves', () => {
  const play = scene();
  for (const signal of ['SIGHUP', 'SIGUSR2', 'SIGUSR2'] as const) play.parent.signal(signal);
  assert.deepEqual(play.nth(1).signals, []);
  play.nth(1).serves();
  assert.deepEqual(play.nth(1).signals, ['SIGUSR2']);
  play.nth(1).ends(137);
  play.clock.pass(100);
  play.parent.signal('SIGUSR2');
  assert.deepEqual(play.nth(2).signals, []);
  play.nth(2).serves().says(UPGRADE);
  play.parent.signal('SIGUSR2');
  assert.deepEqual([play.nth(2).signals, play.nth(3).signals], [['SIGUSR2', 'SIGUSR2'], []]);
  play.nth(3).serves();
  assert.deepEqual(play.nth(3).signals, ['SIGUSR2']);
});

test('SIGUSR2 is also passed to a process that drains, which still writes a log', () => {
  const play = scene();
  play.nth(1).serves().says(UPGRADE);
  play.parent.signal('SIGUSR2');
  play.nth(2).serves();
  play.parent.signal('SIGUSR2');
  assert.deepEqual(
    [play.nth(1).signals, play.nth(2).signals],
    [
      ['SIGUSR2', 'SIGUSR2'],
      ['SIGUSR2', 'SIGUSR2'],
    ],
  );
});

test('a successor is started with the given launcher, adopted, and restarted from then on', async () => {
  const play = scene({ argv: ['run', '--config', 'x'] });
  play.nth(1).serves('1').says(UPGRADE);
  assert.deepEqual(play.nth(2).launch, { launcher: '/new/sluice', argv: ['run', '--config', 'x', '--takeover'] });
  play.nth(1).says({ kind: 'handed-over' });
  play.nth(2).serves('2');
  const upgraded = { old: { version: '1', pid: 1 }, new: { version: '2', pid: 2 } };
  assert.deepEqual(play.nth(1).told, [{ kind: 'upgraded', upgraded }]);
  play.nth(1).ends(86);
  await settled();
  assert.equal(play.exit, null);
  assert.deepEqual(play.told, ['ready', 'reloading', 'ready']);
  play.nth(2).ends(137);
  play.clock.pass(100);
  assert.deepEqual(play.nth(3).launch, { launcher: '/new/sluice', argv: ['run', '--config', 'x'], env: RESTARTED });
});

test('a stop while the old process drains reaches both, and the parent waits for both', async () => {
  const play = scene();
  play.nth(1).serves().says(UPGRADE);
  play.nth(2).serves();
  play.parent.stop();
  assert.deepEqual([play.nth(1).signals, play.nth(2).signals], [['SIGTERM'], ['SIGTERM']]);
  play.nth(2).ends(0);
  await settled();
  assert.equal(play.exit, null);
  play.nth(1).ends(86);
  await settled();
  assert.equal(play.exit, 0);
});

test('a successor that exits before it serves is reported with its reason, and the old process continues', () => {
  const play = scene();
  play.nth(1).serves().says(UPGRADE);
  play.nth(2).says({ kind: 'failed', reason: 'no such file' }).ends(2);
  play.nth(1).says(UPGRADE);
  play.nth(3).lastWords = 'Error: broken\n    at there (file.js:1:1)\n\nNode.js v26.1.0\n';
  play.nth(3).ends(1);
  play.nth(1).says(UPGRADE);
  play.nth(4).ends(134);
  const reasons = ['(exit code 2): no such file', '(exit code 1): Error: broken', '(exit code 134) without an error message'];
  assert.deepEqual(
    play.nth(1).told,
    reasons.map((reason) => ({ kind: 'not-upgraded', reason: `the new process ended ${reason}` })),
  );
  assert.deepEqual([play.nth(1).signals, play.exit, play.told.at(-1)], [[], null, 'ready']);
});

test('a successor that never serves is killed after a minute', () => {
  const play = scene();
  play.nth(1).serves().says(UPGRADE);
  play.clock.pass(60_000);
  assert.deepEqual(play.nth(2).signals, ['SIGTERM']);
  play.clock.pass(2_000);
  assert.deepEqual(play.nth(2).signals, ['SIGTERM', 'SIGKILL']);
  play.nth(2).ends(137);
  assert.match(JSON.stringify(play.nth(1).told), /did not serve within 60 s/);
});

test('a successor that finishes its requests when it is told to end after a minute is left to do so', () => {
  const play = scene();
  play.nth(1).serves().says(UPGRADE);
  play.clock.pass(60_000);
  play.nth(2).says({ kind: 'draining' });
  play.clock.pass(30_000);
  assert.deepEqual(play.nth(2).signals, ['SIGTERM']);
  play.nth(2).says({ kind: 'failed', reason: 'told to stop' }).ends(143);
  assert.match(JSON.stringify(play.nth(1).told), /did not serve within 60 s/);
});

test('a process that does not end 30 s after the time for its requests is over is killed, when it is stopped and after an upgrade', async () => {
  for (const upgraded of [false, true]) {
    const play = scene();
    play.nth(1).serves().says(UPGRADE);
    if (upgraded) play.nth(2).serves();
    else play.nth(2).ends(1);
    if (!upgraded) play.parent.stop();
    play.nth(1).says({ kind: 'draining', within: 5_000 });
    play.clock.pass(34_999);
    const before = upgraded ? [] : ['SIGTERM'];
    assert.deepEqual(play.nth(1).signals, before);
    play.clock.pass(1);
    assert.deepEqual(play.nth(1).signals, [...before, 'SIGKILL']);
    play.nth(1).ends(137);
    await settled();
    assert.equal(play.exit, upgraded ? null : 137);
  }
});

test('a process that has ended in time is not killed, nor is the one that has its place', () => {
  const play = scene();
  play.nth(1).serves().says(UPGRADE);
  play.nth(2).serves();
  play.nth(1).says({ kind: 'draining', within: 5_000 }).ends(0);
  play.clock.pass(60_000);
  assert.deepEqual([play.nth(1).signals, play.nth(2).signals, play.exit], [[], [], null]);
});

test('a data plane that is restarted after it was told to stop on its own is not killed with the time limit of the one before', () => {
  const play = scene();
  play.nth(1).serves().says({ kind: 'draining', within: 5_000 }).pid = 99;
  play.clock.pass(60_000);
  assert.deepEqual([play.nth(1).signals, play.exit], [[], null]);
});

test('the second of two simultaneous upgrades is refused, and so is one requested by a process that has handed over', () => {
  const play = scene();
  play.nth(1).serves().says(UPGRADE).says(UPGRADE);
  assert.deepEqual(play.nth(1).told, [{ kind: 'not-upgraded', reason: 'another upgrade is under way' }]);
  play.nth(2).serves();
  play.nth(1).says(UPGRADE);
  assert.match(JSON.stringify(play.nth(1).told.at(-1)), /another process has already replaced it/);
  assert.equal(play.children.length, 2);
});

test('if the old process dies while its successor starts, the successor replaces it, or a restart follows', () => {
  for (const lives of [true, false]) {
    const play = scene();
    play.nth(1).serves().says(UPGRADE);
    play.nth(1).ends(137);
    play.clock.pass(10_000);
    assert.equal(play.children.length, 2);
    if (lives) play.nth(2).serves();
    else play.nth(2).ends(1);
    play.clock.pass(10_000);
    assert.equal(play.children.length, lives ? 2 : 3);
  }
});

test('a successor that dies between the takeover and its first message is replaced while the old process drains', async () => {
  const play = scene();
  play.nth(1).serves().says(UPGRADE);
  play.nth(1).says({ kind: 'handed-over' });
  play.nth(2).ends(137);
  assert.match(JSON.stringify(play.nth(1).told), /the new process ended \(exit code 137\)/);
  play.clock.pass(100);
  assert.deepEqual(play.nth(3).launch, { launcher: '/old/sluice', argv: ['dataplane'], env: RESTARTED });
  play.nth(3).serves();
  play.nth(1).ends(86);
  await settled();
  assert.deepEqual([play.exit, play.children.length, play.told.at(-1)], [null, 3, 'ready']);
});

test('a successor whose end becomes known before it was handed over to is replaced, too', async () => {
  const play = scene();
  play.nth(1).serves().says(UPGRADE);
  play.nth(2).ends(137);
  play.nth(1).says(handedOverTo(2));
  play.clock.pass(100);
  play.nth(3).serves();
  play.nth(1).ends(86);
  await settled();
  assert.deepEqual([play.exit, play.children.length, play.told.at(-1)], [null, 3, 'ready']);
});

test('a process in another container with the same number as a successor that failed long ago is not that one', async () => {
  const container = scene({ staysBehind: true });
  container.nth(1).serves().says(UPGRADE);
  container.nth(2).ends(2);
  container.clock.pass(60_000);
  container.nth(1).says(handedOverTo(2)).ends(86);
  container.clock.pass(60_000);
  await settled();
  assert.deepEqual([container.exit, container.children.length], [null, 2]);
});

test('a successor that fails because an unrelated process has taken over is not replaced', async () => {
  for (const drains of [true, false]) {
    const play = scene();
    play.nth(1).serves().says(UPGRADE);
    play.nth(1).says(handedOverTo(99));
    if (!drains) play.nth(1).ends(86);
    play.nth(2).ends(2);
    play.clock.pass(10_000);
    if (drains) play.nth(1).ends(86);
    await settled();
    assert.deepEqual([play.exit, play.children.length], [0, 2]);
  }
});

test('after a takeover by an unrelated process the parent exits with 0, or waits to be stopped if it runs in a container', async () => {
  const play = scene();
  play.nth(1).serves().says({ kind: 'handed-over' }).ends(86);
  await settled();
  assert.equal(play.exit, 0);

  const container = scene({ staysBehind: true });
  container.nth(1).serves().says({ kind: 'handed-over' }).ends(86);
  container.clock.pass(60_000);
  await settled();
  assert.deepEqual([container.exit, container.children.length], [null, 1]);
  container.parent.stop();
  await settled();
  assert.equal(container.exit, 0);
});
