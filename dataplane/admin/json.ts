import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ApiError } from './errors.ts';

/** Items made into JSON in one turn of the event loop. */
const STEP = 500;

export function sendJson(response: ServerResponse, status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
  let text: string;
  try {
    text = JSON.stringify(body);
  } catch (error) {
    throw new ApiError('serialize', error instanceof Error ? error.message : String(error));
  }
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...headers,
  });
  response.end(text);
}

/** Sends a list of any length without holding up the event loop, as fast as the client reads. */
export async function sendList<T>(response: ServerResponse, items: readonly T[], shape: (item: T) => unknown): Promise<void> {
  if (items.length <= STEP) return sendJson(response, 200, items.map(shape));
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  for (let from = 0; from < items.length; from += STEP) {
    const text = items
      .slice(from, from + STEP)
      .map((item) => JSON.stringify(shape(item)))
      .join(',');
    if (response.destroyed) return;
    if (!response.write(`${from === 0 ? '[' : ','}${text}`)) await drained(response);
    else await nextTurn();
  }
  response.end(']');
}

const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    response.once('drain', resolve);
    response.once('close', resolve);
  });
