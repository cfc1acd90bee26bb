import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { sendContinue } from './early-answer.ts';
import { ApiError } from './errors.ts';

/** The largest body of POST /routes that is accepted, in bytes. */
export const MAX_BODY = 65_536;
/** How long a body may take to arrive (ms). */
const BODY_MS = 30_000;

/**
 * Reads a JSON body. @throws ApiError 413 as soon as it is known to be too large, 400 if it is not a JSON object, 408 if it is too slow.
 */
export async function readJson(request: IncomingMessage, response: ServerResponse, clock: Clock): Promise<Record<string, unknown>> {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY) throw tooLarge();
  sendContinue(request, response);
  const value = parse(await bytesOf(request, clock));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new ApiError('invalidJson', 'expected an object');
  return value as Record<string, unknown>;
}

/** Stopping early does not destroy the request, so that the client can get its response while it is still sending. */
function bytesOf(request: IncomingMessage, clock: Clock): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let size = 0;
    const collect = (piece: Buffer) => {
      size += piece.length;
      pieces.push(piece);
      if (size > MAX_BODY) fail(tooLarge());
    };
    const leave = () => {
      cancel();
      request.off('data', collect).off('end', end).off('close', gone).off('error', fail).pause();
    };
    const end = () => {
      leave();
      resolve(Buffer.concat(pieces));
    };
    const fail = (error: Error) => {
      leave();
      reject(error);
    };
    const gone = () => fail(new Error('the client disconnected'));
    const cancel = clock.after(BODY_MS, () => fail(new ApiError('slowBody')));
    request.on('data', collect).once('end', end).once('close', gone).once('error', fail);
  });
}

const tooLarge = (): ApiError => new ApiError('tooLarge');

const strictText = new TextDecoder('utf-8', { fatal: true });

function parse(bytes: Buffer): unknown {
  let text: string;
  try {
    text = strictText.decode(bytes);
  } catch {
    throw new ApiError('invalidJson', 'the body is not UTF-8');
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ApiError('invalidJson', error instanceof Error ? error.message : String(error));
  }
}
