import type { Purge } from '../../shared/wire/purge.ts';
import type { CacheEntry } from '../traffic/protocol.ts';
import { answers, pathOf } from './url-index.ts';

/** The properties of a response that decide whether a purge removes it. */
export type Purgeable = Pick<CacheEntry, 'host' | 'target' | 'queryRule' | 'tags'>;

export function matches(purge: Purge, entry: Purgeable): boolean {
  if (purge.kind === 'tag') return entry.tags.includes(purge.tag);
  if (purge.kind === 'target') return answers(entry, purge.host, purge.target);
  return purge.host === entry.host && pathOf(entry.target).startsWith(purge.prefix);
}
