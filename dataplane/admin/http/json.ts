import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { finishResponse } from './early-answer.ts';
import { ApiError } from './errors.ts';

/** How many characters of JSON are made in one turn of the event loop. */
const PIECE = 65_536;

export function sendJson(response: ServerResponse, status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
  sendText(response, status, serialize(body), headers);
}

function serialize(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw new ApiError('serialize', error instanceof Error ? error.message : String(error));
  }
}

function sendText(response: ServerResponse, status: number, text: string, headers: Readonly<Record<string, string>> = {}): void {
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

/** Sends a list of any length, as fast as the client reads it, without blocking the event loop; items are created as they are sent. */
export async function sendList<T>(
  response: ServerResponse,
  items: Iterable<T>,
  shape: (item: T) => unknown = (item) => item,
): Promise<void> {
  const pieces = inPieces(items, shape);
  const first = pieces.next().value ?? '';
  let piece = pieces.next();
  if (piece.done) return sendText(response, 200, `[${first}]`);
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.write(`[${first}`);
  for (; !piece.done; piece = pieces.next()) {
    if (response.destroyed) return;
    if (!response.write(`,${piece.value}`)) await drained(response);
    // A fast reader drains within the same turn; this gives other clients a turn.
    await nextTurn();
  }
  response.end(']');
}

/** JSON of items, separated by commas, in pieces that are made within a few milliseconds each. */
function* inPieces<T>(items: Iterable<T>, shape: (item: T) => unknown): Generator<string, undefined> {
  let piece = '';
  for (const item of items) {
    piece += `${piece === '' ? '' : ','}${serialize(shape(item))}`;
    if (piece.length < PIECE) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}

/** Resolves when the reader has read what it was sent, or is gone. */
const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
