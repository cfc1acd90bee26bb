import type { Http2Stream } from 'node:http2';
import { AppendBuffer } from './append-buffer.ts';

/** A piece of a body with at least this many bytes is passed on by itself. */
const LARGE = 1_024;
/** More bytes than a stream can hold unread: its own buffer plus the window it has advertised. */
const MOST_BUFFERED = 1_048_576;
const NOTHING = Buffer.alloc(0);

/**
 * Gathers the payload of tiny DATA frames. A peer may cut a body into single bytes. Each would become a chunk and a write on the other
 * side, and while that side isn't reading, Node's HTTP/2 library would keep each as an object of some hundred bytes, up to a full window
 * per stream. The first piece of a turn of the event loop passes immediately, and those that follow in the same turn are joined. While the
 * stream isn't read, all pieces are joined. Exceptions go to `onFault`, because the library, which makes the call, couldn't report them.
 */
export function coalesceSmallPieces(stream: Http2Stream, onFault: (error: unknown) => void): void {
  const push = stream.push.bind(stream);
  const buffer = new AppendBuffer(MOST_BUFFERED);
  let kept: Buffer = NOTHING;
  let turnBegun = false;
  // What arrived before the stream was announced.
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
    kept = buffer.join(kept, piece);
    return stream.readableLength + kept.length < stream.readableHighWaterMark;
  };
  stream.on('resume', flush);
  stream.push = (piece: Buffer | null): boolean => {
    try {
      return gather(piece);
    } catch (error) {
      onFault(error);
      return false;
    }
  };
}
