import { createHmac } from 'node:crypto';
import type { Credentials } from './credentials.ts';

/** The most pairs that a worker remembers. The least recently used one is evicted first. */
const MAX = 1_024;

/** A hash and the credentials offered for it, as a value that reveals neither. */
export type CredentialPair = string;

/** The accepted pairs of hash and credentials, stored as keyed hashes: each costs one comparison rather than one per request. */
export class VerifiedPasswords {
  private readonly key: Buffer;
  /** In order of last use. */
  private readonly pairs = new Set<CredentialPair>();

  /** `key`: unpredictable bytes, never stored. */
  constructor(key: Buffer) {
    this.key = key;
  }

  /** If the hash changes, the pair changes too, so what was remembered for the old hash no longer applies. */
  pairOf(hash: string, { user, password }: Credentials): CredentialPair {
    return createHmac('sha256', this.key).update(`${hash}:${user}:`).update(password).digest('base64');
  }

  has(pair: CredentialPair): boolean {
    if (!this.pairs.delete(pair)) return false;
    this.pairs.add(pair);
    return true;
  }

  add(pair: CredentialPair): void {
    this.pairs.delete(pair);
    this.pairs.add(pair);
    if (this.pairs.size <= MAX) return;
    for (const oldest of this.pairs) {
      this.pairs.delete(oldest);
      return;
    }
  }
}
