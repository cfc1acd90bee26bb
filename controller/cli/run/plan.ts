import { stat } from 'node:fs/promises';
import { closest } from '../../../shared/closest.ts';
import { NAME } from '../../../shared/name.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { readFlags, UsageError, unknownFlag } from '../../../shared/runtime/flags.ts';
import type { RunPlan } from '../../../shared/runtime/process/parent.ts';
import { describeTakenBy, runningInstance } from '../../../shared/runtime/process/running-instance.ts';
import { FILE_GLOBALS_VARIABLE } from '../../../shared/runtime/process/supervised.ts';
import { CONTROLLER_FLAGS, type ControllerSettings, controllerSettings } from '../../flags.ts';
import { globalsOfFile } from '../../sources/file/globals-of-file.ts';
import { SLOW_MS, WHY_SLOW } from '../../sources/file/text/read.ts';
import { dataplaneFlagLines } from './dataplane-flags.ts';
import { givenValue, type RunArguments, splitArguments } from './run-arguments.ts';

export const asksForHelp = (argv: readonly string[]): boolean => argv.includes('--help') || argv.includes('-h');

/** Plans data plane and controller: checks the flags and reads the globals of the config file. @throws UsageError. */
export async function plan(argv: readonly string[]): Promise<RunPlan> {
  const split = splitArguments(CONTROLLER_FLAGS, argv, process.env);
  const named = givenValue(split.controller, 'config', process.env);
  // The checks of the flags would block the thread while the disk of the file does not answer.
  if (typeof named === 'string') await patiently(named, () => stat(named).catch(() => null));
  const { config } = settingsOf(split);
  await requireAlone(split);
  const { dataplane, takeover } = split;
  const controller = [...split.controller, ...(config === null ? [] : [`--config=${config}`])];
  return { dataplane, controller, env: await environmentOf(config), takeover };
}

/** Checked before the controller starts, because it would send its routes to the other data plane. @throws UsageError. */
async function requireAlone({ stateDir, takeover }: RunArguments): Promise<void> {
  const first = takeover ? null : await runningInstance(stateDir);
  if (first !== null) throw new UsageError(`${NAME} run: ${describeTakenBy(stateDir, first)}`);
}

/** @throws UsageError. Unknown flags are reported first, since a mistyped --config would otherwise be reported as a missing file. */
function settingsOf({ controller, dataplane }: RunArguments): ControllerSettings {
  if (dataplane.some(mayBeOurs)) requireKnown(dataplane);
  try {
    return controllerSettings('run', readFlags('run', CONTROLLER_FLAGS, controller, process.env));
  } catch (error) {
    requireKnown(dataplane);
    throw error;
  }
}

/** Whether it may be a mistyped flag of the controller. The data plane would reject it without saying which one. */
function mayBeOurs(word: string): boolean {
  const names = CONTROLLER_FLAGS.map(({ name }) => name);
  const name = nameIn(word);
  return name !== undefined && !names.includes(name) && closest(name, names) !== undefined;
}

/** @throws UsageError for a flag that neither process has. It takes a moment, because the data plane has to be asked for its flags. */
function requireKnown(words: readonly string[]): void {
  const ofDataplane = [...dataplaneFlagLines().matchAll(/^ {2}--([a-z-]+)/gm)].map(([, name = '']) => ({ name }));
  const all = [...ofDataplane, ...CONTROLLER_FLAGS];
  for (const word of words) {
    const name = nameIn(word);
    if (name !== undefined && all.every((flag) => flag.name !== name)) throw new UsageError(`${NAME} run: ${unknownFlag(word, all)}`);
  }
}

const nameIn = (word: string): string | undefined => /^--([^=]+)/.exec(word)?.[1];

/**
 * Reads the file's globals before each start of the data plane, so that no wrong port is ever opened. A file with errors does not prevent
 * the start: its globals are used if they are valid, otherwise the last good ones. The controller reports the errors. If there are no
 * globals at all, the data plane uses those that it saved.
 */
async function environmentOf(config: string | null): Promise<Record<string, string>> {
  const globals = config === null ? null : await patiently(config, () => globalsOfFile(config, process.env));
  return globals === null ? {} : { [FILE_GLOBALS_VARIABLE]: JSON.stringify(globals) };
}

/** Says that the start waits for the config file if it takes long: nothing else does, and nothing is served yet. */
async function patiently<T>(config: string, read: () => Promise<T>): Promise<T> {
  const stopWaiting = systemClock.after(SLOW_MS, () => {
    process.stderr.write(`${NAME} run: waiting for the config file ${config}: ${WHY_SLOW}\n`);
  });
  return read().finally(stopWaiting);
}
