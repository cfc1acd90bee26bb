/**
 * Receives the events of a stream. None of these is called from within the stream's own methods. What one of them throws is passed to
 * `onFault` and affects no other stream.
 */
export interface StreamReceiver {
  /** A piece of the body, which nothing overwrites. @returns false to get it again after `resume`. */
  data(buffer: Buffer, from: number, to: number): boolean;
  /** The peer's side is complete. `trailers` are whole lines, or empty. */
  ended(trailers: string): void;
  /** The stream has closed. `code` is the one that either side reset it with, if one did (`wasReset`). */
  closed(code: number): void;
  /** Most of what was queued has been sent, so sending may continue. */
  drained(): void;
  onFault(error: unknown): void;
}
