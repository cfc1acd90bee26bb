import type { LogLine } from '../../../shared/runtime/log/log-line.ts';
import type { Purge } from '../../../shared/wire/purge.ts';
import type { CacheEntry } from '../../traffic/cache-messages.ts';

/** The messages between the main thread and the thread that owns the files of the cache. */
export type DiskStart = {
  /** The folder of the cache, in the state directory. */
  readonly path: string;
  /** Bytes that the files may take. */
  readonly size: number;
  /** Memory of the filter of keys. */
  readonly filter: SharedArrayBuffer;
  /** Responses that are read from disk get numbers below this one, which no worker assigns. */
  readonly firstId: number;
  /** Whether another process may still use the files: until `own`, none is written. */
  readonly shared: boolean;
  /** How long a process that handed over may still answer requests (ms). */
  readonly drainMs: number;
};

/** Which stored response: the request that it answers. */
export type EntryIdentity = Pick<CacheEntry, 'key' | 'vary' | 'variant'>;

export type ToDisk =
  /** `most`: bytes of all bodies together. */
  | { readonly kind: 'read'; readonly key: string; readonly most: number }
  /** `replaces` is the number of an older response, or null. */
  | { readonly kind: 'write'; readonly entry: CacheEntry; readonly replaces: number | null }
  /** A newer response that is not kept on disk takes its place. */
  | { readonly kind: 'forget'; readonly identity: EntryIdentity; readonly replaces: number | null }
  | { readonly kind: 'used'; readonly counts: readonly (readonly [id: number, count: number])[] }
  /** `counted`: the numbers of those removed from memory, which are not counted again. `urgent`: someone waits for the answer. */
  | {
      readonly kind: 'purge';
      readonly id: number;
      readonly purge: Purge;
      readonly counted: readonly number[];
      readonly urgent: boolean;
    }
  /** Deletes everything. */
  | { readonly kind: 'clear' }
  /** Another process takes over: from now on, purges are only recorded for it. */
  | { readonly kind: 'release' }
  /** It has not taken over. */
  | { readonly kind: 'reclaim' }
  /** No other process uses the files any more. */
  | { readonly kind: 'own' }
  | { readonly kind: 'close' };

export type FromDisk =
  | { readonly kind: 'read'; readonly key: string; readonly entries: readonly CacheEntry[] }
  /** A `write` is over. */
  | { readonly kind: 'settled'; readonly length: number; readonly outcome: WriteOutcome }
  /** `saved`: the purge is durable, so a restart would not find the files again. */
  | { readonly kind: 'purged'; readonly id: number; readonly count: number; readonly saved: boolean }
  /** The process that this one replaces recorded a purge. */
  | { readonly kind: 'noted'; readonly purge: Purge }
  | { readonly kind: 'released' }
  | ({ readonly kind: 'state' } & DiskState)
  | LogLine;

/** Written; not written because the disk fails or another process owns the files; or no longer wanted. */
export type WriteOutcome = 'written' | 'dropped' | 'unwanted';

export type DiskState = {
  /** Bytes of files, and responses in them. */
  readonly bytes: number;
  readonly entries: number;
  /** Files that were deleted because they were damaged. */
  readonly damaged: number;
  /** Why nothing is written now; null if it is. */
  readonly failure: string | null;
};
