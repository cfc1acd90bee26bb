import { createHmac } from 'node:crypto';
import type { Credentials } from './credentials.ts';

/** Pairs that a worker remembers; the one that was used least lately is forgotten first. */
const MOST = 1_024;

/** A hash and what was offered for it, as a value that tells nothing of either. */
export type Pair = string;

/** The pairs of hash and credentials that were found to fit, under a keyed hash: each costs one compare and not one a request. */
export class Verified {
  private readonly key: Buffer;
  /** In the order of their last use. */
  private readonly pairs = new Set<Pair>();

  /** `key`: unpredictable bytes, never stored. */
  constructor(key: Buffer) {
    this.key = key;
  }

  /** A hash that changes makes another pair: what was remembered for the old one is of no more use. */
  pairOf(hash: string, { user, password }: Credentials): Pair {
    return createHmac('sha256', this.key).update(`${hash}:${user}:`).update(password).digest('base64');
  }

  has(pair: Pair): boolean {
    if (!this.pairs.delete(pair)) return false;
    this.pairs.add(pair);
    return true;
  }

  add(pair: Pair): void {
    this.pairs.delete(pair);
    this.pairs.add(pair);
    if (this.pairs.size <= MOST) return;
    for (const oldest of this.pairs) {
      this.pairs.delete(oldest);
      return;
    }
  }
}
