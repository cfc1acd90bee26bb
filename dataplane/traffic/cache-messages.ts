import type { Purge } from '../../shared/wire/purge.ts';

/*
 * What the main thread, which has the index of the response cache, and the workers, which serve from it, tell each other.
 */

/** A stored response. It never changes; its body is in memory that all threads share. */
export type CacheEntry = {
  /** Unique in the process. */
  readonly id: number;
  /** The same for entries with the same body: when one is validated, its successor has it. */
  readonly bodyId: number;
  /** Scheme, host, target and everything else that decides which response a request gets, except for Vary. */
  readonly key: string;
  /** Without port, lower case; and the target as the client sent it, without parameters that do not decide. */
  readonly host: string;
  readonly target: string;
  /** Which query parameters decide, as the JSON of a QueryRule; empty if all do. */
  readonly queryRule: string;
  /** The pattern of its route. */
  readonly domain: string;
  /** The request fields that chose it (lower case), and their normalized values. */
  readonly vary: readonly string[];
  readonly variant: string;
  readonly status: number;
  /** Whole lines, without Age and those that frame the body. */
  readonly fields: string;
  readonly length: number;
  readonly body: readonly SharedArrayBuffer[];
  /** When it was received (ms since 1970), and how old it was then (seconds). */
  readonly receivedAt: number;
  readonly initialAge: number;
  /** Seconds. */
  readonly lifetime: number;
  /** Whether it must be validated before each use, and whether it must not be used stale. */
  readonly noCache: boolean;
  readonly mustRevalidate: boolean;
  /** Seconds (RFC 5861). */
  readonly staleWhileRevalidate: number;
  readonly staleIfError: number;
  readonly etag: string | null;
  readonly lastModified: string | null;
  /** Whether a response that is changed later than this one has another Last-Modified, which has whole seconds (RFC 9110 8.8.2.2). */
  readonly hasExactDate: boolean;
  readonly tags: readonly string[];
  /** Whether requests with cookies or credentials may get it. */
  readonly shared: boolean;
};

export type CacheToWorker =
  /** The answer to a look-up: all that is stored for a key. A new worker learns the number of the newest purge from it. */
  | { readonly kind: 'found'; readonly key: string; readonly entries: readonly CacheEntry[]; readonly purged: number }
  /**
   * Entries that are gone; `purged` if that was a purge, whose number is greater than those of all earlier ones; `successor`: the entry that
   * has the body of one of them, if they have been replaced; `resized`: they are gone because the cache is smaller now.
   */
  | {
      readonly kind: 'gone';
      readonly ids: readonly number[];
      readonly purged: { readonly number: number; readonly purge: Purge } | null;
      readonly successor?: Pick<CacheEntry, 'id' | 'bodyId'>;
      readonly resized?: true;
    };

export type CacheFromWorker =
  | { readonly kind: 'look-up'; readonly key: string }
  /** `since` is the newest purge that the worker knew when it requested the response; `replaces` an older entry, or null. */
  | { readonly kind: 'store'; readonly entry: CacheEntry; readonly since: number; readonly replaces: number | null }
  /** How often entries were used since the last message. */
  | { readonly kind: 'used'; readonly counts: readonly (readonly [id: number, count: number])[] }
  /** Requests that may change their target (RFC 9111 4.4). */
  | { readonly kind: 'invalidate'; readonly host: string; readonly targets: readonly string[] }
  | { readonly kind: 'purged'; readonly purged: number };
