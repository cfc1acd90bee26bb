import type { CacheEntry } from '../../cache-messages.ts';
import { fieldIn } from '../../codec/http1/kept-lines.ts';
import type { InternalAnswer } from '../../exchange/internal-exchange.ts';
import { matchesAny } from './conditions.ts';
import type { FillBlock } from './fill-block.ts';
import { agesOf, updated } from './freshness.ts';
import { identityOf, storingFor } from './new-entry.ts';
import type { CacheLookup } from './reader.ts';
import { type CacheResponse, readResponse } from './response.ts';
import type { Storing } from './storing.ts';

/** The request that validated an entry. `requestedAt` in ms since 1970. */
type Validation = { readonly leader: CacheLookup; readonly key: string; readonly block: FillBlock; readonly requestedAt: number };

/** A stored response that a 304 has confirmed, with newer fields and age. */
type Revalidated = {
  readonly entry: CacheEntry;
  readonly response: CacheResponse;
  /** null if it must not be stored any longer: its entry is for the clients that wait for it. */
  readonly storing: Storing | null;
};

/** RFC 9111 4.3.4: the stored response is what the upstream would send, with newer fields; null if the 304 is about another one. */
export function revalidated(
  entry: CacheEntry,
  answer: InternalAnswer,
  { leader, key, block, requestedAt }: Validation,
): Revalidated | null {
  const sent = fieldIn(answer.fields, 'etag');
  if (sent !== null && entry.etag !== null && !matchesAny(sent, entry.etag)) return null;
  const fields = updated(entry.fields, answer.fields);
  const response = { ...readResponse(entry.status, fields), age: readResponse(304, answer.fields).age };
  const storing = storingFor(leader, response, block);
  const newer: CacheEntry = {
    ...entry,
    ...identityOf(leader, key, block, response),
    ...agesOf(response, requestedAt, block.tools.clock.now()),
    // The newer Date is not that of the body, which may be older than one with the same Last-Modified.
    hasExactDate: entry.hasExactDate && entry.lastModified === response.lastModifiedText,
    fields,
    ...(storing ?? { lifetime: 0 }),
  };
  return { entry: newer, response, storing };
}
