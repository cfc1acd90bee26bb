import { join, resolve } from 'node:path';
import { ADMIN_SOCKET_FILE, DEFAULT_ADMIN_SOCKET, DEFAULT_STATE_DIR, NAME } from '../../../shared/name.ts';
import { type Flag, UsageError, unknownFlag, variableOf } from '../../../shared/runtime/flags.ts';

/** The arguments of `run`, sorted by the process that reads them. */
export type RunArguments = {
  readonly controller: readonly string[];
  readonly dataplane: readonly string[];
  /** Where the controller connects to the data plane. */
  readonly adminSocket: string;
  readonly stateDir: string;
  /** Whether the data plane takes over from another one. */
  readonly takeover: boolean;
};

/** Read by both. */
const SHARED = new Set(['log-level']);
/** The longest socket path that every supported system accepts (bytes). */
const MAX_SOCKET_PATH = 103;

/**
 * Splits the arguments: controller flags go to the controller, shared ones to both, and all others to the data plane, which rejects
 * unknown ones. All arguments up to the next flag belong to a flag, since neither process takes positionals. @throws UsageError for
 * arguments before the first flag, and for a socket path that is too long.
 */
export function splitArguments(
  table: readonly Flag[],
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): RunArguments {
  const known = new Set(table.map(({ name }) => name));
  const controller: string[] = [];
  const dataplane: string[] = [];
  let group: string[][] = [];
  for (const word of argv) {
    if (word.startsWith('--')) {
      const name = word.slice(2).split('=')[0] as string;
      group = SHARED.has(name) ? [controller, dataplane] : known.has(name) ? [controller] : [dataplane];
    }
    if (group.length === 0) {
      const isFlag = word.startsWith('-') && word !== '-';
      throw new UsageError(`${NAME} run: ${isFlag ? unknownFlag(word, table) : `name the config file with --config ${word}`}`);
    }
    for (const list of group) list.push(word);
  }
  const named = givenValue(dataplane, 'admin-socket', env);
  const adminSocket = resolve(socketPath(named, givenValue(dataplane, 'state-dir', env)));
  if (Buffer.byteLength(adminSocket) > MAX_SOCKET_PATH)
    throw new UsageError(
      `${NAME} run: the socket path ${adminSocket} is longer than ${MAX_SOCKET_PATH} bytes; choose a shorter one with --admin-socket PATH`,
    );
  if (named === undefined) dataplane.push('--admin-socket', adminSocket);
  controller.push('--dataplane', `unix:${adminSocket}`);
  const takeover = ['1', 'true', true].includes(givenValue(dataplane, 'takeover', env) ?? '');
  const stateDir = givenValue(dataplane, 'state-dir', env);
  return { controller, dataplane, adminSocket, stateDir: typeof stateDir === 'string' ? stateDir : DEFAULT_STATE_DIR, takeover };
}

function socketPath(named: string | true | undefined, stateDir: string | true | undefined): string {
  if (named === true) return DEFAULT_ADMIN_SOCKET;
  return named ?? join(typeof stateDir === 'string' ? stateDir : DEFAULT_STATE_DIR, ADMIN_SOCKET_FILE);
}

/** The last value of a flag, or true without a value; else its environment variable; else undefined. */
export function givenValue(
  argv: readonly string[],
  name: string,
  env: Readonly<Record<string, string | undefined>>,
): string | true | undefined {
  let value: string | true | undefined;
  argv.forEach((word, at) => {
    const next = argv[at + 1];
    if (word.startsWith(`--${name}=`)) value = word.slice(name.length + 3);
    else if (word === `--${name}`) value = next === undefined || next.startsWith('--') ? true : next;
  });
  const inherited = env[variableOf(name)];
  if (value !== undefined || inherited === undefined || ['', '0', 'false'].includes(inherited)) return value;
  return inherited === '1' || inherited === 'true' ? true : inherited;
}
