import type { Fault } from '../../fault.ts';
import type { FieldSection } from '../../fields.ts';

/** The direction of messages. */
export type Direction = Exclude<FieldSection, 'trailers'>;

/** One message as our codec understood it. */
export type OurMessage = {
  /** Where its head begins. */
  readonly offset: number;
  /** Where its head ends. */
  readonly bodyOffset: number;
  /** Empty in a response. */
  readonly method: string;
  readonly target: string;
  /** 0 in a request. */
  readonly status: number;
  readonly minor: number;
  readonly host: string | null;
  /** Field lines to forward. */
  readonly kept: string;
  /** Bytes, or -1 if the head gives no length. */
  readonly length: number;
  readonly chunked: boolean;
  readonly persists: boolean;
  /** Latin-1. */
  body: string;
  trailers: string;
  complete: boolean;
};

export type OurReading = {
  /** Every message whose head was accepted. */
  readonly messages: OurMessage[];
  /** Why the bytes after them were refused, or null if none were. */
  fault: Fault | null;
};

/** Reads bytes as they arrive, in any pieces. */
export interface MessageReader {
  readonly reading: OurReading;
  feed(piece: Buffer): void;
}

/** Reads `bytes` split at `cuts`, which are ascending offsets. */
export function readCut(reader: MessageReader, bytes: Buffer, cuts: readonly number[]): OurReading {
  // The reader gets its own copy, because it moves pieces of bodies together within it.
  const own = Buffer.from(bytes);
  let from = 0;
  for (const cut of cuts) {
    reader.feed(own.subarray(from, cut));
    from = cut;
  }
  reader.feed(own.subarray(from));
  return reader.reading;
}
