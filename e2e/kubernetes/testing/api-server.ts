import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type Agent, request } from 'node:https';

const REQUEST_MS = 60_000;

/** The API server of a cluster, as processes in the cluster use it. */
export interface ApiServer {
  /** Where pods reach it. */
  readonly serviceAddress: string;
  readonly port: number;
  /** A request of an administrator. @throws unless it succeeds. */
  api<T = unknown>(method: string, path: string, body?: unknown, type?: string): Promise<T>;
  /** The lines of a response that lasts until the API server or the signal ends it, such as that of a watch. @throws if it fails. */
  lines(path: string, signal: AbortSignal): AsyncIterable<string>;
}

type Access = { readonly port: number; readonly token: string; readonly agent: Agent };

/** A request to an API server on this machine. @returns its text unless that is JSON. @throws unless it succeeds. */
export function apiRequest<T>(
  { port, token, agent }: Access,
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

/**
 * A request to an API server on this machine whose response has no end. @returns its lines.
 * @throws unless it succeeds, and once the signal aborts it.
 */
export async function* apiLines({ port, token, agent }: Access, path: string, signal: AbortSignal): AsyncGenerator<string> {
  const headers = { authorization: `Bearer ${token}` };
  const call = request({ host: '127.0.0.1', port, path, headers, rejectUnauthorized: false, agent, signal });
  const [response] = (await once(call.end(), 'response', { signal })) as [IncomingMessage];
  // Once there is a response, an error of the request is one of the response, too.
  call.on('error', (error) => response.destroy(error));
  if (response.statusCode !== 200) throw new Error(`GET ${path}: ${response.statusCode}`);
  let rest = '';
  for await (const piece of response.setEncoding('utf8')) {
    const lines = `${rest}${piece}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}
