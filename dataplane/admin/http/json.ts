import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { finishResponse } from './early-answer.ts';
import { ApiError } from './errors.ts';

/** How many items are serialized in one turn of the event loop. */
const STEP = 500;

export function sendJson(response: ServerResponse, status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
  let text: string;
  try {
    text = JSON.stringify(body);
  } catch (error) {
    throw new ApiError('serialize', error instanceof Error ? error.message : String(error));
  }
  response.writeHead(status, { ...fieldsOf(text), ...headers });
  response.end(text);
}

/** Sends an error, possibly before the whole request has arrived. */
export function sendError(request: IncomingMessage, response: ServerResponse, clock: Clock, error: ApiError): void {
  const text = JSON.stringify(error.body);
  response.writeHead(error.status, { ...fieldsOf(text), ...error.headers });
  finishResponse(request, response, clock, text);
}

const fieldsOf = (text: string) => ({
  'content-type': 'application/json',
  'content-length': Buffer.byteLength(text),
  'cache-control': 'no-store',
});

/** Sends a list of any length as fast as the client reads it, without blocking the event loop. */
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
    // A fast reader drains within the same turn; this gives other clients a turn.
    await nextTurn();
  }
  response.end(']');
}

/** Resolves when the reader has read everything it was sent, or has disconnected. */
const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
