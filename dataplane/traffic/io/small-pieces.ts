import type { Http2Stream } from 'node:http2';
import { Gathering } from './gathering.ts';

/** A piece of a body from this many bytes on is worth its own way (bytes). */
const LARGE = 1_024;
/** More than a stream has at hand while nobody takes it: its own buffer and the window that it was told of (bytes). */
const MOST_ROOM = 1_048_576;
const NOTHING = Buffer.alloc(0);

/**
 * Gathers what comes in tiny frames. Whoever sends may cut a body into single bytes: each would be a chunk and a write for the
 * other side, and while that does not take them, the library keeps each as an object of some hundred bytes, a window full of
 * them a stream. The first piece of a turn goes on at once, those that follow it in the same turn go together; where nobody
 * reads the stream, all of them until somebody does. What is thrown meanwhile is told to `broke`: the library, which calls, would
 * have no one to tell.
 */
export function gatherSmallPieces(stream: Http2Stream, broke: (error: unknown) => void): void {
  const push = stream.push.bind(stream);
  const gathering = new Gathering(MOST_ROOM);
  let kept: Buffer = NOTHING;
  let turnBegun = false;
  // What came before anybody was told of the stream.
  if (stream.readableLength >= LARGE) stream.unshift(stream.read());

  const flush = (): void => {
    if (kept.length === 0) return;
    const pieces = kept;
    kept = NOTHING;
    if (!stream.destroyed) push(pieces);
  };
  const turn = (): void => {
    turnBegun = false;
    if (stream.readableFlowing === true) flush();
  };

  const gather = (piece: Buffer | null): boolean => {
    if (piece === null || piece.length >= LARGE) {
      flush();
      return push(piece);
    }
    const flowing = stream.readableFlowing === true;
    if (flowing && !turnBegun && kept.length === 0) {
      turnBegun = true;
      setImmediate(turn);
      return push(piece);
    }
    kept = gathering.join(kept, piece);
    return stream.readableLength + kept.length < stream.readableHighWaterMark;
  };
  stream.on('resume', flush);
  stream.push = (piece: Buffer | null): boolean => {
    try {
      return gather(piece);
    } catch (error) {
      broke(error);
      return false;
    }
  };
}
