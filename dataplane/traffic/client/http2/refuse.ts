import { ERROR } from '../../codec/http2/frames/frame.ts';
import type { Http2Stream } from '../../codec/http2/stream.ts';
import { FAULT_REASON, type Faults } from '../../exchange/faults.ts';

/** Answers a stream that has no exchange. `bodyless`: the response has no body. @returns the size of the body in bytes. */
export function refuse(stream: Http2Stream, status: number, reason: string, bodyless: boolean): number {
  const body = Buffer.from(`${status} ${reason}\n`);
  stream.head({ status, pseudo: null, lines: 'Content-Type: text/plain; charset=utf-8\r\n', length: body.length }, bodyless);
  if (!bodyless) {
    stream.write(body, 0, body.length);
    stream.end('');
  }
  if (!stream.inputEnded) stream.release();
  return bodyless ? 0 : body.length;
}

/** Answers a stream whose exchange has failed in the proxy itself; if that fails, too, resets it. */
export function refuseFaulty(stream: Http2Stream, faults: Faults, bodyless: boolean): void {
  let refused = false;
  faults.step(() => {
    refuse(stream, 500, FAULT_REASON, bodyless);
    refused = true;
  });
  if (!refused) faults.step(() => stream.reset(ERROR.internal));
}
