import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log.ts';
import type { Turns } from '../../../ledger/turns.ts';
import type { OwnAnswer } from '../../answer.ts';
import type { Exchange } from '../../exchange.ts';
import type { Credentials } from './credentials.ts';
import { type Pair, Verified } from './verified.ts';

/** How soon a worker looks again whether another one has given its turn back (ms). */
const RETRY_MS = 5;

const BUSY: OwnAnswer = { status: 503, fields: 'Retry-After: 1\r\n', body: null, reason: 'too many passwords wait to be checked' };
const BROKEN: OwnAnswer = { status: 503, fields: 'Retry-After: 10\r\n', body: null, reason: 'passwords cannot be checked' };

/** Whether a password has a hash. Takes tens of milliseconds of a thread and more, as it should. */
export type Compare = (password: Buffer, hash: string) => Promise<boolean>;

/** bcrypt, loaded with the first password. It works on the thread pool that names and files need as well. */
export const compareWithBcrypt: Compare = async (password, hash) => (await import('bcrypt')).compare(password, hash);

type Parts = {
  readonly turns: Turns;
  readonly slot: number;
  readonly clock: Clock;
  readonly log: Log;
  /** For what is remembered: unpredictable bytes. */
  readonly key: Buffer;
  readonly compare: Compare;
  /** Goes on with an exchange: null lets it in. */
  readonly resume: (x: Exchange, own: OwnAnswer | null) => void;
};

/** One compare, and every exchange that waits for its outcome with the answer it gets otherwise. */
type Check = {
  readonly pair: Pair;
  readonly hash: string;
  readonly password: Buffer;
  readonly exchanges: { readonly x: Exchange; readonly refusal: OwnAnswer }[];
};

/** Checks passwords for one worker, at most two at once in the whole process. */
export class Passwords {
  private readonly parts: Parts;
  private readonly verified: Verified;
  private readonly checks = new Map<Pair, Check>();
  private queue: Check[] = [];
  private retrying = false;

  constructor(parts: Parts) {
    this.parts = parts;
    this.verified = new Verified(parts.key);
  }

  /**
   * Whether credentials fit a hash. @returns null when they were found to fit before, an answer when too many
   * wait, else 'later': the exchange is resumed with null or with `refusal`.
   */
  check(x: Exchange, credentials: Credentials, hash: string, refusal: OwnAnswer): OwnAnswer | null | 'later' {
    const pair = this.verified.pairOf(hash, credentials);
    if (this.verified.has(pair)) return null;
    const same = this.checks.get(pair);
    if (same !== undefined) same.exchanges.push({ x, refusal });
    else if (!this.join()) return BUSY;
    else {
      const check = { pair, hash, password: credentials.password, exchanges: [{ x, refusal }] };
      this.checks.set(pair, check);
      this.queue.push(check);
      this.next();
    }
    return 'later';
  }

  private join(): boolean {
    const { turns, slot } = this.parts;
    if (turns.join(slot)) return true;
    this.queue = this.queue.filter((check) => this.isWanted(check));
    return turns.join(slot);
  }

  /** Nobody computes for clients that have left. */
  private isWanted(check: Check): boolean {
    if (check.exchanges.some(({ x }) => x.status === 0)) return true;
    this.checks.delete(check.pair);
    this.parts.turns.leave(this.parts.slot);
    return false;
  }

  private next(): void {
    const { turns, slot, clock } = this.parts;
    this.queue = this.queue.filter((check) => this.isWanted(check));
    while (this.queue.length > 0 && turns.take(slot)) {
      turns.leave(slot);
      this.begin(this.queue.shift() as Check);
    }
    if (this.queue.length === 0 || this.retrying) return;
    this.retrying = true;
    clock.after(RETRY_MS, () => {
      this.retrying = false;
      this.next();
    });
  }

  private begin(check: Check): void {
    const { compare, log } = this.parts;
    compare(check.password, check.hash).then(
      (fits) => this.settle(check, fits, null),
      (error: unknown) => {
        log.error({ err: error }, 'a password could not be checked');
        this.settle(check, false, BROKEN);
      },
    );
  }

  private settle(check: Check, fits: boolean, broken: OwnAnswer | null): void {
    const { turns, slot, resume } = this.parts;
    turns.give(slot);
    this.checks.delete(check.pair);
    if (fits) this.verified.add(check.pair);
    for (const { x, refusal } of check.exchanges) resume(x, fits ? null : (broken ?? refusal));
    // Another worker that waits looks within RETRY_MS; taking the turn back at once would keep it from ever having one.
    if (!this.retrying || !turns.othersWait(slot)) this.next();
  }
}
