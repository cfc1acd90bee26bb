import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_STATE_DIR, NAME } from '../../../shared/name.ts';
import { buildInfo } from '../../../shared/runtime/build.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import type { Flag } from '../../../shared/runtime/flags.ts';
import { isToParent } from '../../../shared/runtime/parent.ts';
import { type Description, SUCCESSOR_START_MS, TAKEOVER_SOCKET } from '../../../shared/wire/takeover.ts';
import { JSON_FLAG, noArguments, wantsJson } from '../ask.ts';
import { type Command, CommandError } from '../command.ts';
import { commandEntry, entryOf } from '../run/processes.ts';
import { describeRunning } from './running.ts';

const STATE_DIR_FLAG: Flag = {
  name: 'state-dir',
  kind: 'value',
  placeholder: 'PATH',
  help: 'the state directory of the data plane that is to be replaced',
  default: DEFAULT_STATE_DIR,
};

/** In the state directory: the new process's log, where the old one's can't be written to. */
const OUTPUT_FILE = 'upgraded.log';

/** Open files; `path` is null where they are those of the old process. */
type Output = { readonly log: number; readonly errors: number; readonly path: string | null };

export const upgrade: Command = {
  usage: '[flags]',
  summary:
    'Starts the installed version beside the running one, with the same command, and lets it take over. The old one keeps serving when that fails.',
  flags: [STATE_DIR_FLAG, JSON_FLAG],
  run: async (flags, terminal) => {
    noArguments('upgrade', flags);
    const stateDir = (flags.given.get('state-dir')?.value as string | undefined) ?? DEFAULT_STATE_DIR;
    const old = await describeRunning(join(stateDir, TAKEOVER_SOCKET));
    // Never this command's own: whoever waits for its output would wait for the end of the new process.
    const output = outputOf(old.pid) ?? outputIn(stateDir);
    const pid = await replace(old, output);
    const { version } = buildInfo();
    if (wantsJson(flags)) {
      const told = { old: { version: old.version, pid: old.pid }, new: { version, pid }, log: output.path };
      terminal.out(`${JSON.stringify(told, null, 2)}\n`);
      return 0;
    }
    terminal.out(`${NAME} ${old.version} (process ${old.pid}) handed over to ${NAME} ${version} (process ${pid})\n`);
    if (output.path !== null) terminal.out(`its log goes to ${output.path}\n`);
    return 0;
  },
};

/** Starts the same command with `--takeover`. @returns the new process's id once it serves. @throws CommandError. */
async function replace(old: Description, { log, errors, path }: Output): Promise<number> {
  const [command = '', ...args] = old.command;
  const entry = command === 'dataplane' ? [entryOf('dataplane')] : [commandEntry(), command];
  const child = spawn(process.execPath, [...process.execArgv, ...entry, ...args, '--takeover'], {
    cwd: existsSync(old.directory) ? old.directory : '/',
    env: old.environment,
    detached: true,
    stdio: ['ignore', log, errors, 'ipc'],
  });
  await served(child, old, path ?? 'its log');
  child.disconnect();
  child.unref();
  return child.pid as number;
}

/** Resolves once it serves. @throws CommandError with its reason when it ends before, or takes too long. */
function served(child: ChildProcess, old: Description, where: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let reason = '';
    const fail = (why: string) => {
      cancel();
      reject(new CommandError(`the new process ${why}; the old one (${old.version}, process ${old.pid}) goes on`));
    };
    const cancel = systemClock.after(SUCCESSOR_START_MS, () => {
      child.kill('SIGTERM');
      fail(`did not serve within ${SUCCESSOR_START_MS / 1_000} s and was ended`);
    });
    child.on('message', (message) => {
      if (!isToParent(message)) return;
      if (message.kind === 'failed') reason = message.reason;
      if (message.kind !== 'serving') return;
      cancel();
      resolve();
    });
    child.once('error', (error) => fail(`could not be started: ${error.message}`));
    child.once('exit', (code, signal) => fail(`ended (${signal ?? `exit code ${code}`})${reason ? `: ${reason}` : `; ${where} says why`}`));
  });
}

/** Where the old process writes its log and its errors, if that can be opened again (files, pipes and terminals on Linux). */
function outputOf(pid: number): Output | undefined {
  try {
    return { log: openSync(`/proc/${pid}/fd/1`, 'a'), errors: openSync(`/proc/${pid}/fd/2`, 'a'), path: null };
  } catch {
    // A socket, as a service manager gives, or a system that shows nothing: a file has to do.
    return undefined;
  }
}

function outputIn(stateDir: string): Output {
  const path = join(stateDir, OUTPUT_FILE);
  const file = openSync(path, 'a', 0o600);
  return { log: file, errors: file, path };
}
