import type { IncomingMessage, ServerResponse } from 'node:http';
import { welcome } from './early-answer.ts';
import { ApiError } from './errors.ts';

/** The largest body of POST /routes that passes, in bytes. */
export const MAX_BODY = 65_536;

/** Reads a JSON body. @throws ApiError 413 as soon as it is known to be too large, 400 for what is no JSON object. */
export async function readJson(request: IncomingMessage, response: ServerResponse): Promise<Record<string, unknown>> {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY) throw tooLarge();
  welcome(request, response);
  const pieces: Buffer[] = [];
  let size = 0;
  // Not destroyed when we stop early: the client is to get its answer while it still sends.
  for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > MAX_BODY) throw tooLarge();
    pieces.push(piece);
  }
  const value = parse(Buffer.concat(pieces));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new ApiError('invalidJson', 'expected an object');
  return value as Record<string, unknown>;
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
