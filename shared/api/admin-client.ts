import { existsSync } from 'node:fs';
import { DEFAULT_ADMIN_LISTEN, DEFAULT_ADMIN_SOCKET, ENV_PREFIX } from '../name.ts';
import { splitAddress } from '../values/address.ts';
import { accepted, type Parsed, refused } from '../values/parsed.ts';

/** The address of an Admin API. */
export type AdminAddress =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

export const TOKEN_VARIABLE = `${ENV_PREFIX}ADMIN_TOKEN`;
/** Time limit without a byte (ms), longer than the data plane lets a waiting reload take. */
const ANSWER_TIMEOUT_MS = 40_000;

/** Reads `HOST:PORT` or `unix:PATH`. */
export function parseAdminAddress(text: string): Parsed<AdminAddress> {
  if (text.startsWith('unix:')) {
    const path = text.slice('unix:'.length);
    return path === '' ? refused('a socket is written unix:PATH') : accepted({ kind: 'unix', path });
  }
  const { host, port } = splitAddress(text);
  if (host === '' || !/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535)
    return refused('an address is HOST:PORT or unix:PATH');
  return accepted({ kind: 'tcp', host, port: Number(port) });
}

/** The default socket if it exists, else the default TCP address. */
export function defaultAdminAddress(): AdminAddress {
  if (existsSync(DEFAULT_ADMIN_SOCKET)) return { kind: 'unix', path: DEFAULT_ADMIN_SOCKET };
  const { host, port } = splitAddress(DEFAULT_ADMIN_LISTEN);
  return { kind: 'tcp', host, port: Number(port) };
}

export function formatAdminAddress(address: AdminAddress): string {
  if (address.kind === 'unix') return `unix:${address.path}`;
  return address.host.includes(':') ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`;
}

/** What node:http's `request` needs to reach the address. */
export function connectOptions(address: AdminAddress): { host: string; port: number } | { socketPath: string } {
  return address.kind === 'unix' ? { socketPath: address.path } : { host: address.host, port: address.port };
}

export const authorization = (token: string | undefined): Record<string, string> =>
  token === undefined || token === '' ? {} : { authorization: `Bearer ${token}` };

/** The Admin API can't be reached, or refuses the token. Commands end with exit code 5. */
export class AdminUnreachable extends Error {
  readonly exitCode = 5;
  readonly address: string;
  readonly reason: string;

  constructor(address: AdminAddress, reason: string) {
    super(`the Admin API at ${formatAdminAddress(address)} cannot be used: ${reason}`);
    this.address = formatAdminAddress(address);
    this.reason = reason;
  }
}

/** A readable message for a connection error. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return (code && REASONS[code]) || message || String(error);
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused (nothing listens there)',
  ENOENT: 'no such socket',
  EACCES: 'permission denied (run as the user who runs the data plane)',
  ENOTSOCK: 'that path is no socket',
  ENOTFOUND: 'no such host',
  ECONNRESET: 'the connection was closed without an answer',
  EPIPE: 'the connection was closed without an answer',
  ETIMEDOUT: 'no answer in time',
  EHOSTUNREACH: 'the host is unreachable',
};

export const UNAUTHORIZED = `unauthorized (set ${TOKEN_VARIABLE} to the data plane's token)`;

export type AdminAnswer = { readonly status: number; readonly text: string };

export type AdminClient = {
  readonly address: AdminAddress;
  /**
   * Sends one request; `body` is sent as JSON. Resolves with any response except 401.
   * @throws AdminUnreachable if there is no response, or it is 401.
   */
  request(method: string, path: string, body?: unknown): Promise<AdminAnswer>;
};

/** A client for one Admin API. `token` is sent as a bearer token; sockets need none. */
export function createAdminClient(options: { address: AdminAddress; token: string | undefined }): AdminClient {
  const { address, token } = options;
  return {
    address,
    request: async (method, path, body) => {
      const answer = await send(address, token, method, path, body);
      if (answer.status === 401) throw new AdminUnreachable(address, UNAUTHORIZED);
      return answer;
    },
  };
}

/** node:http is loaded with the first request, not with a command's `--help`. */
async function send(address: AdminAddress, token: string | undefined, method: string, path: string, body: unknown): Promise<AdminAnswer> {
  const { request } = await import('node:http');
  const bytes = body === undefined ? undefined : JSON.stringify(body);
  const headers: Record<string, string> = { ...authorization(token), connection: 'close' };
  if (bytes !== undefined) headers['content-type'] = 'application/json';
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => reject(new AdminUnreachable(address, reasonOf(error)));
    const sent = request({ ...connectOptions(address), method, path, headers, timeout: ANSWER_TIMEOUT_MS }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', fail);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }));
    });
    sent.on('timeout', () => sent.destroy(Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' })));
    sent.on('error', fail);
    sent.end(bytes);
  });
}
