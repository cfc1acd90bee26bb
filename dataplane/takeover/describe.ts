import { buildInfo } from '../../shared/runtime/build.ts';
import { isSupervised, SUPERVISED_VARIABLE, SUPERVISOR_COMMAND_VARIABLE } from '../../shared/runtime/supervised.ts';
import type { Description } from '../../shared/wire/takeover.ts';
import { COMMAND, FILE_GLOBALS_VARIABLE } from '../settings/settings.ts';

/** What a supervisor tells its children; a successor is told anew. The rest is needed as it is: a config file may refer to any of it. */
const INNER = new Set([SUPERVISED_VARIABLE, SUPERVISOR_COMMAND_VARIABLE, FILE_GLOBALS_VARIABLE]);

/** How this process, or the supervisor that it belongs to, was started. `--takeover` is left out: a successor has its own. */
export function describe({ env, argv, pid, ppid, cwd }: Pick<NodeJS.Process, 'env' | 'argv' | 'pid' | 'ppid' | 'cwd'>): Description {
  const supervisor = isSupervised() ? env[SUPERVISOR_COMMAND_VARIABLE] : undefined;
  const command = supervisor === undefined ? [COMMAND, ...argv.slice(2)] : (JSON.parse(supervisor) as string[]);
  const environment = Object.entries(env).filter(([name, value]) => !INNER.has(name) && value !== undefined);
  return {
    version: buildInfo().version,
    pid: supervisor === undefined ? pid : ppid,
    command: command.filter((word) => word !== '--takeover'),
    directory: cwd(),
    environment: Object.fromEntries(environment) as Record<string, string>,
  };
}
