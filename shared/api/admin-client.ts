import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { TOKEN_VARIABLE } from '../name.ts';
import { type AdminAddress, formatAdminAddress } from './admin-address.ts';
import { notAnAdminApi, reasonOf } from './connection-failure.ts';

/** Time limits without a byte (ms). A reload is answered when it is done; queries are answered at once, unless the process hangs. */
const CHANGE_MS = 40_000;
const QUERY_MS = 10_000;

/**
 * Sends a request on its own connection. Over TLS the certificate is always verified, regardless of NODE_TLS_REJECT_UNAUTHORIZED. The
 * modules are loaded on the first request, so that `--help` stays fast.
 */
export function openRequest(
  address: AdminAddress,
  options: Pick<RequestOptions, 'method' | 'path' | 'headers' | 'timeout'>,
  answered?: (response: IncomingMessage) => void,
): ClientRequest {
  const own = { ...options, agent: false } as const;
  if (address.kind === 'tls') {
    const { host, port, roots } = address;
    const verified = { rejectUnauthorized: true, minVersion: 'TLSv1.2', ...(roots && { ca: roots.pem }) } as const;
    return process.getBuiltinModule('node:https').request({ ...own, ...verified, host, port }, answered);
  }
  const where = address.kind === 'unix' ? { socketPath: address.path } : { host: address.host, port: address.port };
  return process.getBuiltinModule('node:http').request({ ...own, ...where }, answered);
}

export const authorization = (token: string | undefined): Record<string, string> =>
  token === undefined || token === '' ? {} : { authorization: `Bearer ${token}` };

/** The Admin API can't be reached or rejects the token. Commands exit with code 5. */
export class AdminUnreachable extends Error {
  readonly exitCode = 5;
  readonly address: string;
  readonly reason: string;
  /** Whether a process has accepted the connection and does not answer. */
  readonly hangs: boolean;

  constructor(address: AdminAddress, reason: string, hangs = false) {
    super(`the Admin API at ${formatAdminAddress(address)} cannot be used: ${reason}`);
    this.address = formatAdminAddress(address);
    this.reason = reason;
    this.hangs = hangs;
  }
}

export const UNAUTHORIZED = `unauthorized (set ${TOKEN_VARIABLE} to the data plane's token)`;

export type AdminAnswer = { readonly address: AdminAddress; readonly status: number; readonly text: string };

export type AdminClient = {
  readonly address: AdminAddress;
  /**
   * Sends one request; `body` is sent as JSON. Resolves with any response except 401.
   * @throws AdminUnreachable if there is no response, if it is 401, or if it is an error in another form than that of the Admin API.
   */
  request(method: string, path: string, body?: unknown): Promise<AdminAnswer>;
};

export type AdminClientOptions = {
  readonly address: AdminAddress;
  /** Sent as a bearer token; sockets need none. */
  readonly token: string | undefined;
  /** How long the process may take to answer a query (ms). */
  readonly queryMs?: number;
};

/** A client for one Admin API. */
export function createAdminClient(options: AdminClientOptions): AdminClient {
  const { address } = options;
  return {
    address,
    request: async (method, path, body) => {
      const answer = await send(options, method, path, body);
      const stranger = notAnAdminApi(answer);
      if (stranger !== null) throw new AdminUnreachable(address, stranger);
      if (answer.status === 401) throw new AdminUnreachable(address, UNAUTHORIZED);
      return answer;
    },
  };
}

function send(
  { address, token, queryMs = QUERY_MS }: AdminClientOptions,
  method: string,
  path: string,
  body: unknown,
): Promise<AdminAnswer> {
  const bytes = body === undefined ? undefined : JSON.stringify(body);
  const headers: Record<string, string> = { ...authorization(token), connection: 'close' };
  if (bytes !== undefined) headers['content-type'] = 'application/json';
  return new Promise((resolve, reject) => {
    const timeout = method === 'GET' ? queryMs : CHANGE_MS;
    let isSilent = false;
    const fail = (error: unknown) => reject(new AdminUnreachable(address, reasonOf(error, address), isSilent));
    const sent = openRequest(address, { method, path, headers, timeout }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', fail);
      response.on('end', () => resolve({ address, status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }));
    });
    sent.on('timeout', () => {
      isSilent = sent.socket?.connecting === false;
      sent.destroy(Object.assign(new Error('no response in time'), { code: isSilent ? 'SILENT' : 'ETIMEDOUT' }));
    });
    sent.on('error', fail);
    sent.end(bytes);
  });
}
