import { type Agent, request } from 'node:https';

const REQUEST_MS = 60_000;

/** The API server of a cluster, as what runs in the cluster uses it. */
export interface ApiServer {
  /** Where pods reach it. */
  readonly serviceAddress: string;
  readonly port: number;
  /** A request of an administrator. @throws unless it succeeds. */
  api<T = unknown>(method: string, path: string, body?: unknown, type?: string): Promise<T>;
}

/** A request to an API server on this machine. @returns its text unless that is JSON. @throws unless it succeeds. */
export function apiRequest<T>(
  { port, token, agent }: { readonly port: number; readonly token: string; readonly agent: Agent },
  method: string,
  path: string,
  body?: unknown,
  type = 'application/json',
): Promise<T> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  // For DELETE, Node sends no length by itself.
  const content = text !== undefined && { 'content-type': type, 'content-length': Buffer.byteLength(text) };
  const headers = { authorization: `Bearer ${token}`, ...content };
  return new Promise((resolve, reject) => {
    const call = request({ host: '127.0.0.1', port, path, method, headers, rejectUnauthorized: false, agent }, (response) => {
      let answer = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        answer += piece;
      });
      response.on('end', () => {
        const isJson = response.headers['content-type']?.startsWith('application/json') ?? false;
        if ((response.statusCode ?? 500) < 300) resolve((isJson ? JSON.parse(answer) : answer) as T);
        else reject(new Error(`${method} ${path}: ${response.statusCode} ${answer}`));
      });
      // Without a listener, a response that is cut off would never settle the promise.
      response.on('error', reject);
    });
    call.setTimeout(REQUEST_MS, () => call.destroy(new Error(`${method} ${path}: no response within a minute`)));
    call.on('error', reject).end(text);
  });
}
