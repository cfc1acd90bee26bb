import { isListed } from '../../shared/policy/cache/purge-log.ts';
import type { Purge } from '../../shared/wire/purge.ts';
import type { CacheEntry } from '../traffic/cache-messages.ts';
import { answers } from './url-index.ts';

/** The properties of a response that decide whether a purge removes it. */
export type Purgeable = Pick<CacheEntry, 'host' | 'target' | 'queryRule' | 'tags'>;

export function matches(purge: Purge, entry: Purgeable): boolean {
  return purge.kind === 'target' ? answers(entry, purge.host, purge.target) : isListed(purge, entry);
}
