import { join, resolve } from 'node:path';
import { type AdminAddress, formatAdminAddress, parseAdminAddress } from '../../../shared/api/admin-address.ts';
import {
  type AdminAnswer,
  type AdminClient,
  type AdminClientOptions,
  AdminUnreachable,
  createAdminClient,
} from '../../../shared/api/admin-client.ts';
import { ADMIN_SOCKET_FILE, DEFAULT_ADMIN_LISTEN, DEFAULT_ADMIN_SOCKET } from '../../../shared/name.ts';
import { variableOf } from '../../../shared/runtime/flags.ts';
import { CommandError } from './command.ts';

/** How long a process may take to answer the request that finds it (ms). */
const FIND_MS = 5_000;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Where the Admin API may listen if no address is given, the likeliest first: the socket and the port from the data plane's environment
 * variables, the socket that `run` opens in the state directory, and the defaults. A port with TLS, or one open to other machines, is
 * left out, because the name on its certificate is not known here.
 */
export function likelyAddresses(stateDir: string, env: Environment): AdminAddress[] {
  const socket = env[variableOf('admin-socket')];
  const paths = [socket?.includes('/') ? socket : undefined, join(stateDir, ADMIN_SOCKET_FILE), DEFAULT_ADMIN_SOCKET];
  const sockets = new Set(paths.flatMap((path) => (path === undefined ? [] : resolve(path))));
  const tcp = parseAdminAddress(env[variableOf('admin-listen')] || DEFAULT_ADMIN_LISTEN);
  const isPlain = tcp.ok && !env[variableOf('admin-tls-cert')];
  return [...[...sockets].map((path): AdminAddress => ({ kind: 'unix', path })), ...(isPlain ? [tcp.value] : [])];
}

/**
 * A client that uses the first of several addresses that responds, and stays with it. @throws CommandError from a request (exit 5),
 * listing all addresses, if none responds, and AdminUnreachable if a process at one of them does not answer: it is the one that is meant.
 */
export function firstThatAnswers(addresses: readonly AdminAddress[], token: string | undefined): Pick<AdminClient, 'request'> {
  const tried: string[] = [];
  let found: Promise<AdminAddress> | undefined;
  return {
    request: async (method, path, body) => {
      found ??= firstOf(addresses, token, tried);
      const answer = await attempt({ address: await found, token }, tried, method, path, body);
      if (answer === null) throw noneAnswers(tried);
      return answer;
    },
  };
}

/** The only address, or the first of several that answers a query. @throws CommandError (exit 5), listing all addresses, if none does. */
export const findAddress = async ([only, ...others]: readonly AdminAddress[], token: string | undefined): Promise<AdminAddress> =>
  only !== undefined && others.length === 0 ? only : firstOf(only === undefined ? [] : [only, ...others], token, [], '/status');

/** `/health` needs no token and is never counted. */
async function firstOf(
  addresses: readonly AdminAddress[],
  token: string | undefined,
  tried: string[],
  path = '/health',
): Promise<AdminAddress> {
  for (const address of addresses) if ((await attempt({ address, token, queryMs: FIND_MS }, tried, 'GET', path)) !== null) return address;
  throw noneAnswers(tried);
}

/** @returns null if the address can't be used; `tried` then has the reason. @throws AdminUnreachable if the process there does not answer. */
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
