import { join } from 'node:path';
import { DEFAULT_STATE_DIR, NAME } from '../../../shared/name.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import type { Flag } from '../../../shared/runtime/flags.ts';
import { runningInstance } from '../../../shared/runtime/process/running-instance.ts';
import { LAUNCHER_VARIABLE } from '../../../shared/runtime/process/supervised.ts';
import { TAKEOVER_SOCKET } from '../../../shared/wire/takeover.ts';
import { JSON_FLAG, noArguments, wantsJson } from '../command/admin-query.ts';
import type { Command } from '../command/command.ts';
import { ownLauncher } from './own-launcher.ts';
import { requestUpgrade } from './request-upgrade.ts';
import { noteWaiting, waitForOurs } from './waiting.ts';

const STATE_DIR_FLAG: Flag = {
  name: 'state-dir',
  placeholder: 'PATH',
  help: 'state directory of the data plane to replace',
  default: DEFAULT_STATE_DIR,
};

const WAIT_FLAG: Flag = { name: 'wait', kind: 'switch', help: 'start nothing; wait until a process of this container has taken over' };

export const upgrade: Command = {
  usage: '[flags]',
  summary:
    'Starts the installed version next to the running one, with the same command, and has it take over. If that fails, the old version keeps serving.',
  flags: [STATE_DIR_FLAG, WAIT_FLAG, JSON_FLAG],
  run: async (flags, terminal) => {
    noArguments('upgrade', flags);
    const stateDir = (flags.given.get('state-dir')?.value as string | undefined) ?? DEFAULT_STATE_DIR;
    if (flags.given.get('wait')?.value === true) {
      const { version, pid } = await waitForOurs(stateDir, systemClock);
      terminal.out(wantsJson(flags) ? `${JSON.stringify({ version, pid }, null, 2)}\n` : `${NAME} ${version} (process ${pid}) serves\n`);
      return 0;
    }
    const launcher = process.env[LAUNCHER_VARIABLE] ?? ownLauncher();
    const stopNotes = noteWaiting(
      systemClock,
      () => runningInstance(stateDir),
      (line) => terminal.err(`${NAME} upgrade: ${line}\n`),
    );
    const upgraded = await requestUpgrade(join(stateDir, TAKEOVER_SOCKET), launcher).finally(stopNotes);
    if (wantsJson(flags)) {
      terminal.out(`${JSON.stringify(upgraded, null, 2)}\n`);
      return 0;
    }
    const [from, to] = [upgraded.old, upgraded.new].map(({ version, pid }) => `${NAME} ${version} (process ${pid})`);
    terminal.out(`${from} handed over to ${to}\n`);
    return 0;
  },
};
