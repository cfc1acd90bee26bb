import { join, resolve } from 'node:path';
import { type AdminAddress, formatAdminAddress, parseAdminAddress } from '../../../shared/api/admin-address.ts';
import {
  type AdminAnswer,
  type AdminClient,
  type AdminClientOptions,
  AdminUnreachable,
  createAdminClient,
} from '../../../shared/api/admin-client.ts';
import { ADMIN_SOCKET_FILE, DEFAULT_ADMIN_LISTEN, DEFAULT_ADMIN_SOCKET, DEPLOYED_ADMIN_SOCKET } from '../../../shared/name.ts';
import { variableOf } from '../../../shared/runtime/flags.ts';
import { TAKEOVER_SOCKET } from '../../../shared/wire/takeover.ts';
import { CommandError } from './command.ts';

/** How long a process may take to answer the request that finds it (ms). */
const FIND_MS = 5_000;

type Environment = Readonly<Record<string, string | undefined>>;

/** The addresses to try, and the state directory that the user has named; null if it is only the usual one. */
export type Places = { readonly addresses: readonly AdminAddress[]; readonly stateDir: string | null };

/** How the environment says that a data plane has no socket. */
const NO_SOCKET: ReadonlySet<string> = new Set(['0', 'false']);

const USUAL_SOCKETS = [DEPLOYED_ADMIN_SOCKET, DEFAULT_ADMIN_SOCKET];

/**
 * Where the Admin API may listen if no address is given, the likeliest first: the socket and the port from the data plane's environment
 * variables, the socket that `run` opens in the state directory, that of a deployed data plane, and the defaults. A port with TLS, or one
 * open to other machines, is left out, because the name on its certificate is not known here.
 */
export function likelyAddresses(stateDir: string, env: Environment): AdminAddress[] {
  const socket = env[variableOf('admin-socket')];
  const paths = [socket?.includes('/') ? socket : undefined, join(stateDir, ADMIN_SOCKET_FILE), ...USUAL_SOCKETS];
  const sockets = new Set(paths.flatMap((path) => (path === undefined ? [] : resolve(path))));
  const tcp = parseAdminAddress(env[variableOf('admin-listen')] || DEFAULT_ADMIN_LISTEN);
  const isPlain = tcp.ok && !env[variableOf('admin-tls-cert')];
  return [...[...sockets].map((path): AdminAddress => ({ kind: 'unix', path })), ...(isPlain ? [tcp.value] : [])];
}

/** Whether it is an address that data planes with any state directory have, and that the environment does not name. */
function isUsual(address: AdminAddress, env: Environment): boolean {
  if (address.kind === 'unix') {
    const named = env[variableOf('admin-socket')];
    // Without a path, the variable says that the default socket is open.
    const path = named?.includes('/') ? resolve(named) : named && !NO_SOCKET.has(named) ? DEFAULT_ADMIN_SOCKET : undefined;
    return USUAL_SOCKETS.includes(address.path) && address.path !== path;
  }
  return !env[variableOf('admin-listen')];
}

/**
 * A client that uses the first of several addresses that responds, and stays with it. @throws CommandError from a request (exit 5),
 * listing all addresses, if none responds, and AdminUnreachable if a process at one of them does not answer: it is the one that is meant.
 */
export function firstThatAnswers(places: Places, token: string | undefined): Pick<AdminClient, 'request'> {
  const tried: string[] = [];
  let found: Promise<AdminAddress> | undefined;
  return {
    request: async (method, path, body) => {
      found ??= firstOf(places, token, tried);
      const answer = await attempt({ address: await found, token }, tried, method, path, body);
      if (answer === null) throw noneAnswers(tried);
      return answer;
    },
  };
}

/** The only address, or the first of several that answers a query. @throws CommandError (exit 5), listing all addresses, if none does. */
export async function findAddress(places: Places, token: string | undefined): Promise<AdminAddress> {
  const [only, ...others] = places.addresses;
  return only !== undefined && others.length === 0 ? only : firstOf(places, token, [], '/status');
}

/** `/health` needs no token and is never counted. */
async function firstOf(
  { addresses, stateDir }: Places,
  token: string | undefined,
  tried: string[],
  path = '/health',
): Promise<AdminAddress> {
  for (const address of addresses) {
    if (stateDir !== null && isUsual(address, process.env) && !(await mayBeServed(stateDir)))
      tried.push(`${formatAdminAddress(address)}: not asked, as it may belong to another state directory than ${stateDir}`);
    else if ((await attempt({ address, token, queryMs: FIND_MS }, tried, 'GET', path)) !== null) return address;
  }
  throw noneAnswers(tried);
}

/** Nothing listens on a socket. */
const NOBODY: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ENOTSOCK', 'ECONNREFUSED']);

/** Whether a data plane may run with a state directory: it always has a socket for takeovers there. */
function mayBeServed(stateDir: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = process.getBuiltinModule('node:net').connect(join(stateDir, TAKEOVER_SOCKET), () => {
      socket.destroy();
      resolve(true);
    });
    // This user may not be allowed to find out.
    socket.once('error', ({ code = '' }: NodeJS.ErrnoException) => resolve(!NOBODY.has(code)));
  });
}

/**
 * @returns null if the address can't be used; `tried` then has the reason. @throws AdminUnreachable if the process there does not answer.
 */
async function attempt(
  place: AdminClientOptions,
  tried: string[],
  method: string,
  path: string,
  body?: unknown,
): Promise<AdminAnswer | null> {
  try {
    return await createAdminClient(place).request(method, path, body);
  } catch (error) {
    if (!(error instanceof AdminUnreachable) || error.hangs) throw error;
    tried.push(`${formatAdminAddress(place.address)}: ${error.reason}`);
    return null;
  }
}

const noneAnswers = (tried: readonly string[]): CommandError =>
  new CommandError(
    `the Admin API cannot be used. Tried ${tried.join('; ')}. Specify it with --admin ADDRESS (https://HOST:PORT if it has a certificate), or the state directory of the running process with --state-dir PATH`,
    5,
  );
