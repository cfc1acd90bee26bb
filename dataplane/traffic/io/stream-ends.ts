import type { Http2Stream } from 'node:http2';
import { addAbortSignal } from 'node:stream';

/*
 * Ends a stream prematurely. The library's own `close` ends the writable side first, which sends END_STREAM: the
 * peer would mistake a truncated message for a complete one (RFC 9113 8.1). And from within one of the library's callbacks `close`
 * can leave a stream that it asks for trailers after it has freed it, which aborts the process. So each of these destroys
 * the stream instead, in a turn of its own, and the library sends a reset for whatever is still open.
 */

const CUT = new Error('the message could not be completed');
/** The library sends CANCEL for a stream that was cancelled, and INTERNAL_ERROR for one that has failed. */
const CALLED_OFF = AbortSignal.abort();

/** The message can't be completed: INTERNAL_ERROR. */
export function cutStream(stream: Http2Stream): void {
  setImmediate(() => stream.destroy(CUT));
}

/** It is no longer needed: CANCEL. */
export function cancelStream(stream: Http2Stream): void {
  setImmediate(() => {
    if (!stream.destroyed) addAbortSignal(CALLED_OFF, stream);
  });
}

/** Everything needed has been received; further data from the peer is of no use (RFC 9113 8.1): NO_ERROR. */
export function leaveStream(stream: Http2Stream): void {
  setImmediate(() => stream.destroy());
}
