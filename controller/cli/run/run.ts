import { exampleIn } from '../../../shared/command-examples.ts';
import { NAME, TOKENS_HELP } from '../../../shared/name.ts';
import { helpOf } from '../../../shared/runtime/flags.ts';
import { sendToParent } from '../../../shared/runtime/process/parent.ts';
import { PARENT_VARIABLE } from '../../../shared/runtime/process/supervised.ts';
import { CONTROLLER_FLAGS } from '../../flags.ts';
import type { Terminal } from '../command/command.ts';
import { ownLauncher } from '../upgrade/own-launcher.ts';
import { dataplaneFlagLines } from './dataplane-flags.ts';
import { asksForHelp, plan } from './plan.ts';
import { parentOfRun } from './processes.ts';

/**
 * Plans data plane and controller for the parent process, which starts them and keeps them running. Started without a parent, it runs one.
 * @returns the exit code. @throws UsageError.
 */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  if (asksForHelp(argv)) return help(terminal);
  if (process.env[PARENT_VARIABLE] === undefined) return parentOfRun([ownLauncher(), 'run', ...argv]);
  sendToParent({ kind: 'plan', plan: await plan(argv) });
  return 0;
}

function help(terminal: Terminal): number {
  terminal.out(
    `Usage: ${NAME} run [flags]\n\nRuns data plane and controller as two supervised processes.\n\nController flags:\n${helpOf(CONTROLLER_FLAGS)}\n\n`,
  );
  terminal.out(`Data plane flags:\n${dataplaneFlagLines()}\n\n${TOKENS_HELP}${exampleIn('run')}`);
  return 0;
}
