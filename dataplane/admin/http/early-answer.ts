import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../../shared/runtime/clock.ts';

/** How much of a request is still read after its response is sent, in bytes and in milliseconds. */
const MAX_REST = 8_388_608;
const REST_MS = 5_000;

/**
 * Ends a response, whether or not the whole request has arrived. A client that is still sending when its connection is
 * closed may lose the response (RFC 9112 9.6), so the rest is read and discarded first, up to a limit.
 */
export function finishResponse(request: IncomingMessage, response: ServerResponse, clock: Clock, text = ''): void {
  if (request.complete || request.destroyed) return void response.end(text);
  if (text !== '') response.write(text);
  let rest = 0;
  const cancel = clock.after(REST_MS, () => cut());
  const cut = () => {
    response.once('finish', () => request.destroy());
    end();
  };
  const end = () => {
    cancel();
    request.off('data', count).off('end', end).off('close', cancel);
    response.end();
  };
  const count = (piece: Buffer) => {
    rest += piece.length;
    if (rest > MAX_REST) cut();
  };
  request.on('data', count).once('end', end).once('close', cancel).resume();
}

/** Tells a client that expects 100 (Continue) to send its body (RFC 9110 10.1.1). */
export function sendContinue(request: IncomingMessage, response: ServerResponse): void {
  if (request.headers.expect?.toLowerCase() === '100-continue') response.writeContinue();
}
