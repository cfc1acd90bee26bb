import { writeSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { NAME } from '../name.ts';
import { systemClock } from '../runtime/clock.ts';
import { whenOrphaned } from '../runtime/process/supervised.ts';
import { systemRandom } from '../runtime/random.ts';
import { type ChildEvents, type Launch, startChild } from './child.ts';
import { Pair, type Planner } from './pair.ts';
import { Parent } from './parent.ts';
import { serviceManager } from './service-manager.ts';
import { reportingSilence } from './silence.ts';

/** An output that is closed, or a file on a full disk, must not end the service. */
function write(fd: 1 | 2, text: string): void {
  try {
    writeSync(fd, text);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
}

/** Writes a line in the common log format. */
function report(fields: object, message: string): void {
  const line = { level: 'error', time: new Date(systemClock.now()).toISOString(), process: 'parent', ...fields, msg: message };
  write(1, `${JSON.stringify(line)}\n`);
}

/** A process names itself in its usage error; for a user who started `run`, it is an error in the use of `run`. */
const asRun = (text: string): string => text.replace(new RegExp(`^${NAME} (?:dataplane|controller): `, 'gm'), `${NAME} run: `);

/**
 * Runs the parent of `run` or `dataplane` as this process, whose arguments are the launcher, the command and its flags. It loads very little,
 * since it keeps its old code through upgrades.
 * @param plan plans the first start of `run`, for which this process has the code of the installed version.
 */
export function runParent(plan: Planner | null): void {
  const [launcher = NAME, ...argv] = process.argv.slice(2);
  const tools = {
    clock: systemClock,
    random: systemRandom,
    report,
    start: reportingSilence(
      (launch: Launch, events: ChildEvents) => startChild(launch, events, (text) => write(2, argv[0] === 'run' ? asRun(text) : text)),
      { clock: systemClock, report },
    ),
  };
  // The first start runs what this process was started from; later ones may run another version.
  let isPlanning = false;
  let ownPlanner: Planner | null =
    plan &&
    ((flags) => {
      isPlanning = true;
      return plan(flags).finally(() => {
        isPlanning = false;
      });
    });
  const pair = (launch: Launch, events: ChildEvents): Pair => {
    const planner = ownPlanner;
    ownPlanner = null;
    return new Pair(launch, events, tools, { ownPlanner: planner, hasOneCore: availableParallelism() === 1 });
  };
  const manager = serviceManager(process.env, systemClock, (reason) => report({ reason }, 'the service manager cannot be notified'));
  const parent = new Parent(
    { launcher, argv },
    {
      clock: systemClock,
      random: systemRandom,
      start: (launch, events) => (launch.argv[0] === 'run' ? pair(launch, events) : tools.start(launch, events)),
      manager,
      report,
      staysBehind: process.pid === 1,
    },
  );
  const stop = (): void => parent.stop();
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  for (const signal of ['SIGHUP', 'SIGUSR2'] as const) process.on(signal, () => parent.signal(signal));
  whenOrphaned(stop);
  // Keeps the process alive between two starts.
  setInterval(() => undefined, 2 ** 31 - 1);
  parent.run().then(async (code) => {
    await manager.sent();
    // Node would wait for the config file, whose disk may not answer.
    if (isPlanning) process.kill(process.pid, 'SIGKILL');
    process.exit(code);
  });
}
