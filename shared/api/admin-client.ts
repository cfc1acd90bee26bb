import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { TOKEN_VARIABLE } from '../name.ts';
import { type AdminAddress, formatAdminAddress } from './admin-address.ts';
import { notAnAdminApi, reasonOf } from './connection-failure.ts';

/** Time limit without a byte (ms), longer than the data plane keeps a reload waiting. */
const ANSWER_TIMEOUT_MS = 40_000;

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

  constructor(address: AdminAddress, reason: string) {
    super(`the Admin API at ${formatAdminAddress(address)} cannot be used: ${reason}`);
    this.address = formatAdminAddress(address);
    this.reason = reason;
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

/** A client for one Admin API. `token` is sent as a bearer token; sockets need none. */
export function createAdminClient(options: { address: AdminAddress; token: string | undefined }): AdminClient {
  const { address, token } = options;
  return {
    address,
    request: async (method, path, body) => {
      const answer = await send(address, token, method, path, body);
      const stranger = notAnAdminApi(answer);
      if (stranger !== null) throw new AdminUnreachable(address, stranger);
      if (answer.status === 401) throw new AdminUnreachable(address, UNAUTHORIZED);
      return answer;
    },
  };
}

function send(address: AdminAddress, token: string | undefined, method: string, path: string, body: unknown): Promise<AdminAnswer> {
  const bytes = body === undefined ? undefined : JSON.stringify(body);
  const headers: Record<string, string> = { ...authorization(token), connection: 'close' };
  if (bytes !== undefined) headers['content-type'] = 'application/json';
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => reject(new AdminUnreachable(address, reasonOf(error, address)));
    const sent = openRequest(address, { method, path, headers, timeout: ANSWER_TIMEOUT_MS }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', fail);
      response.on('end', () => resolve({ address, status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }));
    });
    sent.on('timeout', () => {
      const code = sent.socket?.connecting === false ? 'SILENT' : 'ETIMEDOUT';
      sent.destroy(Object.assign(new Error('no response in time'), { code }));
    });
    sent.on('error', fail);
    sent.end(bytes);
  });
}
