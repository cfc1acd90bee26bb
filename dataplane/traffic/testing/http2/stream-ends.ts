import type { Http2Stream } from 'node:http2';
import { addAbortSignal } from 'node:stream';

/*
 * Test support: ends a stream of Node's library before its time. Its own `close` first ends the writable side, which sends END_STREAM, so
 * the peer would mistake a truncated message for a complete one (RFC 9113 8.1).
 */

const CUT = new Error('the message could not be completed');
/** The library sends CANCEL for a stream that was cancelled, and INTERNAL_ERROR for one that failed. */
const CALLED_OFF = AbortSignal.abort();

/** The message can't be completed: INTERNAL_ERROR. */
export function cutStream(stream: Http2Stream): void {
  setImmediate(() => stream.destroy(CUT));
}

/** The stream is no longer needed: CANCEL. */
export function cancelStream(stream: Http2Stream): void {
  setImmediate(() => {
    if (!stream.destroyed) addAbortSignal(CALLED_OFF, stream);
  });
}

/** Everything needed has been received; further data from the peer is of no use (RFC 9113 8.1): NO_ERROR. */
export function releaseStream(stream: Http2Stream): void {
  setImmediate(() => stream.destroy());
}
