import { hash, randomBytes } from 'node:crypto';
import type { Purge } from '../../wire/purge.ts';

/** As many as two bytes can tell apart. */
const SLOTS = 65_536;
/** How many purges by prefix or tag are remembered. */
const MAX_LISTED = 1_000;

type Numbered = { readonly number: number; readonly purge: Purge };
type Url = { readonly host: string; readonly target: string };
/** The properties of a response that decide whether a purge by prefix or tag removes it. */
type Described = Url & { readonly tags: readonly string[] };

/**
 * The purges so far, for responses that were requested before some of them. Its size does not depend on what clients send: of a purge of
 * one URL, only a slot is kept, which all queries of its path share and seldom another path. So it may say of a response that it was
 * purged when a similar one was, and never the reverse. Slots are chosen with a secret, so that no one can find another URL in the slot of
 * a given one.
 */
export class PurgeLog {
  /** The number of the newest purge. */
  newest = 0;
  /** The numbers of the newest purge by prefix or tag, and of the newest that is not listed any more. */
  private newestListed = 0;
  private forgotten = 0;
  private readonly listed: Numbered[] = [];
  private readonly slots = new Float64Array(SLOTS);
  private readonly secret = randomBytes(16).toString('latin1');

  /** `number` is greater than those of all earlier ones. */
  add(number: number, purge: Purge): void {
    this.newest = number;
    if (purge.kind === 'target') {
      this.slots[this.slotOf(purge)] = number;
      return;
    }
    this.newestListed = number;
    this.listed.push({ number, purge });
    if (this.listed.length > MAX_LISTED) this.forgotten = this.listed.shift()?.number ?? 0;
  }

  /** The purges up to this number happened before anything of interest was requested. */
  skipTo(number: number): void {
    this.newest = Math.max(this.newest, number);
  }

  /** Whether a response that was requested when `since` was the newest purge has been purged. */
  removes(response: Described, since: number): boolean {
    if (since >= this.newest) return false;
    if (since < this.forgotten || this.hasUrl(response, since)) return true;
    return this.listed.some(({ number, purge }) => number > since && isListed(purge, response));
  }

  /** The same for a response of which only the URL is known: every purge by prefix or tag may be about it. */
  mayRemove(url: Url, since: number): boolean {
    return since < this.newest && (since < this.newestListed || this.hasUrl(url, since));
  }

  private hasUrl(url: Url, since: number): boolean {
    return (this.slots[this.slotOf(url)] as number) > since;
  }

  private slotOf({ host, target }: Url): number {
    return hash('sha256', `${this.secret}${host}${pathOf(target)}`, 'buffer').readUInt16LE(0);
  }
}

/** Whether a purge by prefix or tag is about this response. */
export function isListed(purge: Purge, { host, target, tags }: Described): boolean {
  if (purge.kind === 'tag') return tags.includes(purge.tag);
  return purge.kind === 'prefix' && purge.host === host && pathOf(target).startsWith(purge.prefix);
}

/** Decoded, without the query. */
export function pathOf(target: string): string {
  const query = target.indexOf('?');
  const path = query < 0 ? target : target.slice(0, query);
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
