import { spawnSync } from 'node:child_process';
import { closest } from '../../../shared/closest.ts';
import { exampleIn } from '../../../shared/command-examples.ts';
import { ENV_PREFIX, NAME } from '../../../shared/name.ts';
import { helpOf, readFlags, UsageError } from '../../../shared/runtime/flags.ts';
import { sendToParent } from '../../../shared/runtime/process/parent.ts';
import { describeTakenBy, runningInstance } from '../../../shared/runtime/process/running-instance.ts';
import { PARENT_VARIABLE } from '../../../shared/runtime/process/supervised.ts';
import { CONTROLLER_FLAGS, type ControllerSettings, controllerSettings } from '../../flags.ts';
import { globalsOfFile } from '../../sources/file/globals-of-file.ts';
import type { Terminal } from '../command/command.ts';
import { ownLauncher } from '../upgrade/own-launcher.ts';
import { entryOf, parent } from './processes.ts';
import { type RunArguments, splitArguments } from './run-arguments.ts';

/** The file's globals as JSON, which the data plane needs before the first frame. */
export const GLOBALS_VARIABLE = `${ENV_PREFIX}FILE_GLOBALS`;

/**
 * Plans data plane and controller for the parent process, which starts them and keeps them running. Started without a parent, it runs one.
 * @returns the exit code. @throws UsageError.
 */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  if (argv.includes('--help') || argv.includes('-h')) return help(terminal);
  if (process.env[PARENT_VARIABLE] === undefined) return parent([ownLauncher(), 'run', ...argv]);
  const split = splitArguments(CONTROLLER_FLAGS, argv, process.env);
  const { config } = settingsOf(split);
  await requireAlone(split);
  const { dataplane, takeover } = split;
  const controller = [...split.controller, ...(config === null ? [] : [`--config=${config}`])];
  sendToParent({ kind: 'plan', plan: { dataplane, controller, env: await environmentOf(config), takeover } });
  return 0;
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
 * the start: its globals are used if they are valid, otherwise the last good ones. The controller reports the errors. If there are no
 * globals at all, the data plane uses those that it saved.
 */
async function environmentOf(config: string | null): Promise<Record<string, string>> {
  const globals = config === null ? null : await globalsOfFile(config, process.env);
  return globals === null ? {} : { [GLOBALS_VARIABLE]: JSON.stringify(globals) };
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
