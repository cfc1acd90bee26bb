import type { Readable, Writable } from 'node:stream';
import type { BodyCheck } from './body-pattern.ts';
import type { Pace } from './mixed-request.ts';

/** Writes a body for as long as the other side accepts it. */
export async function writePaced(to: Writable, body: Buffer, pace: Pace): Promise<void> {
  for (let at = 0; at < body.length && to.writable; ) {
    const end = Math.min(body.length, at + pace.piece());
    await accepted(to, body.subarray(at, end));
    at = end;
    await pace.between();
  }
}

/** Waits while there is no room. A request of node:http says nothing about room after its response, but still when a piece has been sent. */
function accepted(to: Writable, piece: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      to.off('close', settle);
      resolve();
    };
    to.on('close', settle);
    if (to.write(piece, settle)) settle();
  });
}

/**
 * Reads a body to its end, or until `enough`. This is not an iteration, which takes a stream of HTTP/2 that has ended but was not read yet for
 * one that was cut off. @throws if a byte is wrong, or if it is cut off.
 */
export async function readPaced(from: Readable, check: BodyCheck, pace: Pace, enough = (): boolean => false): Promise<void> {
  let isEnded = false;
  let isClosed = from.destroyed;
  let wake = (): void => undefined;
  const look = (): void => wake();
  const ended = (): void => {
    isEnded = true;
    wake();
  };
  const closed = (): void => {
    isClosed = true;
    wake();
  };
  from.on('readable', look).on('end', ended).on('error', closed).on('close', closed);
  try {
    await pace.begin();
    while (!enough()) {
      const piece: Buffer | null = from.read();
      if (piece !== null) {
        check.add(piece);
        await pace.between();
      } else if (isEnded) return;
      else if (isClosed) throw new Error(`cut off after ${check.progress}`);
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    from.off('readable', look).off('end', ended).off('close', closed);
  }
}
