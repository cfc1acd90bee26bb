import { spawnSync } from 'node:child_process';
import { closest } from '../../../shared/closest.ts';
import { exampleIn } from '../../../shared/command-examples.ts';
import { ENV_PREFIX, NAME } from '../../../shared/name.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { helpOf, readFlags, UsageError } from '../../../shared/runtime/flags.ts';
import { createLog } from '../../../shared/runtime/log.ts';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { describeTakenBy, runningInstance } from '../../../shared/runtime/running-instance.ts';
import type { Globals } from '../../../shared/settings.ts';
import { CONTROLLER_FLAGS, type ControllerSettings, controllerSettings } from '../../flags.ts';
import { compileFile } from '../../sources/file/compile.ts';
import type { Terminal } from '../command/command.ts';
import { Couple } from './couple.ts';
import { entryOf } from './processes.ts';
import { type RunArguments, splitArguments } from './run-arguments.ts';
import { Supervised } from './supervisor.ts';

/** The file's globals as JSON, which the data plane needs before the first frame. */
export const GLOBALS_VARIABLE = `${ENV_PREFIX}FILE_GLOBALS`;

/** Data plane and controller as two processes. @returns the exit code of a process whose first start failed, else 0. @throws UsageError. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  if (argv.includes('--help') || argv.includes('-h')) return help(terminal);
  // Until the data plane runs there is no log to reopen, and the signal would end this process.
  process.on('SIGUSR2', () => undefined);
  const split = splitArguments(CONTROLLER_FLAGS, argv, process.env);
  const settings = settingsOf(split);
  await requireAlone(split);
  const log = createLog('supervisor', settings.logLevel);
  const parts = { clock: systemClock, random: systemRandom, log, err: (text: string) => terminal.err(asRun(text)) };
  const couple = new Couple(
    (heard) =>
      new Supervised(
        {
          name: 'dataplane',
          argv: [...process.execArgv, entryOf('dataplane'), ...split.dataplane],
          env: environmentOf(settings.config),
          mustServe: true,
          heard,
        },
        parts,
      ),
    new Supervised(
      {
        name: 'controller',
        argv: [
          ...process.execArgv,
          entryOf('controller'),
          ...split.controller,
          ...(settings.config === null ? [] : [`--config=${settings.config}`]),
        ],
        env: async () => ({}),
        // The process being replaced may still hold its port for a moment.
        persistent: split.takeover,
      },
      parts,
    ),
  );
  return couple.run(split.takeover);
}

/** Checked before the controller starts, because it would send its routes to the other data plane. @throws UsageError. */
async function requireAlone({ stateDir, takeover }: RunArguments): Promise<void> {
  const first = takeover ? null : await runningInstance(stateDir);
  if (first !== null) throw new UsageError(`${NAME} run: ${describeTakenBy(stateDir, first)}`);
}

/** @throws UsageError. Unknown flags are reported first, since a mistyped --config would otherwise be reported as a missing file. */
function settingsOf(split: RunArguments): ControllerSettings {
  try {
    return controllerSettings('run', readFlags('run', CONTROLLER_FLAGS, split.controller, process.env));
  } catch (error) {
    const known = [...dataplaneFlagLines().matchAll(/^ {2}--([a-z-]+)/gm)].map(([, name = '']) => name);
    const all = [...known, ...CONTROLLER_FLAGS.map(({ name }) => name)];
    for (const word of split.dataplane) {
      const name = /^--([^=]+)/.exec(word)?.[1];
      if (name === undefined || all.includes(name)) continue;
      const meant = closest(name, all);
      throw new UsageError(`${NAME} run: unknown flag --${name}${meant === undefined ? '' : ` (did you mean --${meant}?)`}`);
    }
    throw error;
  }
}

/**
 * Reads the file's globals before each start of the data plane, so that no wrong port is ever opened. A file with errors does not prevent
 * the start: its globals are used if they are valid, otherwise the last good ones. The controller reports the errors. Until this process
 * has read globals, it passes none, and the data plane uses those that it saved.
 */
function environmentOf(config: string | null): () => Promise<Record<string, string>> {
  let globals: Globals | undefined;
  return async () => {
    if (config !== null) globals = (await compileFile(config, process.env)).globals ?? globals;
    return globals === undefined ? {} : { [GLOBALS_VARIABLE]: JSON.stringify(globals) };
  };
}

/** A child names itself in its usage error; for a user who started `run`, it is an error in the use of `run`. */
function asRun(text: string): string {
  return text.replace(new RegExp(`^${NAME} (?:dataplane|controller): `, 'gm'), `${NAME} run: `);
}

function help(terminal: Terminal): number {
  terminal.out(
    `Usage: ${NAME} run [flags]\n\nRuns data plane and controller as two supervised processes.\n\nController flags:\n${helpOf(CONTROLLER_FLAGS)}\n\n`,
  );
  terminal.out(`Data plane flags:\n${dataplaneFlagLines()}\n${exampleIn('run')}`);
  return 0;
}

/** The data plane's part of the help, requested from the data plane itself: the two modules share no code. */
function dataplaneFlagLines(): string {
  const { stdout } = spawnSync(process.execPath, [entryOf('dataplane'), '--help'], { encoding: 'utf8' });
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('  --'))
    .join('\n');
}
