import { join, resolve } from 'node:path';
import { type AdminAddress, formatAdminAddress, parseAdminAddress } from '../../shared/api/admin-address.ts';
import { type AdminAnswer, type AdminClient, AdminUnreachable, createAdminClient } from '../../shared/api/admin-client.ts';
import { ADMIN_SOCKET_FILE, DEFAULT_ADMIN_LISTEN, DEFAULT_ADMIN_SOCKET } from '../../shared/name.ts';
import { envTwin } from '../../shared/runtime/flags.ts';
import { CommandError } from './command.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Where the Admin API may listen when no address is given, the likeliest first: the socket and the port that the
 * environment names for the data plane, the socket that `run` opens in the state directory, and the defaults. A port
 * that speaks TLS, or is open to others, is left out: by which name its certificate knows it can't be told from here.
 */
export function likelyAddresses(stateDir: string, env: Environment): AdminAddress[] {
  const socket = env[envTwin('admin-socket')];
  const paths = [socket?.includes('/') ? socket : undefined, join(stateDir, ADMIN_SOCKET_FILE), DEFAULT_ADMIN_SOCKET];
  const sockets = new Set(paths.flatMap((path) => (path === undefined ? [] : resolve(path))));
  const tcp = parseAdminAddress(env[envTwin('admin-listen')] || DEFAULT_ADMIN_LISTEN);
  const isPlain = tcp.ok && !env[envTwin('admin-tls-cert')];
  return [...[...sockets].map((path): AdminAddress => ({ kind: 'unix', path })), ...(isPlain ? [tcp.value] : [])];
}

/**
 * A client for the first of several addresses that answers; it stays with that one.
 * A request throws CommandError (exit 5), naming every address that was tried, when none answers.
 */
export function firstThatAnswers(addresses: readonly AdminAddress[], token: string | undefined): Pick<AdminClient, 'request'> {
  const tried: string[] = [];
  const attempt = async (address: AdminAddress, method: string, path: string, body?: unknown): Promise<AdminAnswer | null> => {
    try {
      return await createAdminClient({ address, token }).request(method, path, body);
    } catch (error) {
      if (!(error instanceof AdminUnreachable)) throw error;
      tried.push(`${formatAdminAddress(address)}: ${error.reason}`);
      return null;
    }
  };
  let found: Promise<AdminAddress | null> | undefined;
  const find = async (): Promise<AdminAddress | null> => {
    // /health needs no token and is never counted.
    for (const address of addresses) if ((await attempt(address, 'GET', '/health')) !== null) return address;
    return null;
  };
  return {
    request: async (method, path, body) => {
      found ??= find();
      const address = await found;
      const answer = address === null ? null : await attempt(address, method, path, body);
      if (answer !== null) return answer;
      throw new CommandError(
        `the Admin API cannot be used. Tried ${tried.join('; ')}. Name it with --admin ADDRESS (https://HOST:PORT where it has a certificate), or the state directory of what runs with --state-dir PATH`,
        5,
      );
    },
  };
}
