import type { Fault } from '../fault.ts';
import type { Role } from '../fields.ts';

/** Which way messages travel. */
export type Direction = Exclude<Role, 'trailers'>;

/** One message as our codec understood it. */
export type OurMessage = {
  /** Where its head begins. */
  readonly offset: number;
  /** Where its head ends. */
  readonly bodyOffset: number;
  /** Empty in an answer. */
  readonly method: string;
  readonly target: string;
  /** 0 in a request. */
  readonly status: number;
  readonly minor: number;
  readonly host: string | null;
  /** Field lines that go on. */
  readonly kept: string;
  /** Bytes; -1 where the head gives none. */
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
  /** Why what follows them was refused; null when nothing was. */
  fault: Fault | null;
};

/** Reads bytes as they come, in any pieces. */
export interface Reader {
  readonly reading: OurReading;
  feed(piece: Buffer): void;
}

/** Reads `bytes` cut at `cuts`, ascending offsets. */
export function readCut(reader: Reader, bytes: Buffer, cuts: readonly number[]): OurReading {
  // What is read belongs to the reader, which moves pieces of bodies together in it.
  const own = Buffer.from(bytes);
  let from = 0;
  for (const cut of cuts) {
    reader.feed(own.subarray(from, cut));
    from = cut;
  }
  reader.feed(own.subarray(from));
  return reader.reading;
}
