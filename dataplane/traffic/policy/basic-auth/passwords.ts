import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log/log.ts';
import { clientNetwork } from '../../../ledger/client-network.ts';
import type { SharedSemaphore } from '../../../ledger/shared-semaphore.ts';
import type { WrongGuesses } from '../../../ledger/wrong-guesses.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { Faults } from '../../exchange/faults.ts';
import { resumeLater } from '../../exchange/later.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import type { Credentials } from './credentials.ts';
import { FairQueue } from './fair-queue.ts';
import { type CredentialPair, VerifiedPasswords } from './verified.ts';

/** How soon a worker checks again whether another one has released its turn (ms). */
const RETRY_MS = 5;

/** The most passwords of one client that may wait. An IPv6 /64 is one client. */
const MAX_PER_ADDRESS = 8;

const IMPATIENT: OwnAnswer = {
  status: 429,
  fields: 'Retry-After: 1\r\n',
  body: null,
  reason: 'too many passwords of this client are waiting to be checked',
};
const BUSY: OwnAnswer = { status: 503, fields: 'Retry-After: 1\r\n', body: null, reason: 'too many passwords are waiting to be checked' };
const BROKEN: OwnAnswer = { status: 503, fields: 'Retry-After: 10\r\n', body: null, reason: 'passwords cannot be checked' };

/** Whether a password matches a hash. Takes tens of milliseconds or more on a thread, by design. */
export type Compare = (password: Buffer, hash: string) => Promise<boolean>;

/** bcrypt, loaded with the first password. It runs on the thread pool that also serves DNS and file access. */
export const compareWithBcrypt: Compare = async (password, hash) => (await import('bcrypt')).compare(password, hash);

export type PasswordTools = {
  readonly semaphore: SharedSemaphore;
  readonly slot: number;
  readonly wrong: WrongGuesses;
  readonly clock: Clock;
  readonly log: Log;
  readonly faults: Faults;
  /** Unpredictable bytes, the key for hashing accepted pairs. */
  readonly key: Buffer;
  readonly compare: Compare;
};

/** One comparison, and every exchange that waits for its result, each with the response it gets if the password is wrong. */
type Check = {
  readonly pair: CredentialPair;
  readonly user: string;
  readonly hash: string;
  readonly password: Buffer;
  /** The client for which it was started. */
  readonly from: string;
  readonly exchanges: { readonly x: Exchange; readonly refusal: OwnAnswer }[];
};

/**
 * Checks passwords for one worker, at most two at once in the whole process. Clients take turns, and those that were wrong recently, in any
 * worker, come after all others, so a client that guesses passwords delays no one else.
 */
export class Passwords {
  private readonly tools: PasswordTools;
  private readonly verified: VerifiedPasswords;
  private readonly checks = new Map<CredentialPair, Check>();
  private readonly queue: FairQueue<Check>;
  private retrying = false;

  constructor(tools: PasswordTools) {
    this.tools = tools;
    this.verified = new VerifiedPasswords(tools.key);
    const { wrong, clock } = tools;
    this.queue = new FairQueue(MAX_PER_ADDRESS, {
      has: (client) => wrong.has(client, clock.now()),
      add: (client) => wrong.add(client, clock.now()),
      delete: (client) => wrong.delete(client),
    });
  }

  /**
   * Checks credentials against a hash and notes whose they are if they match. @returns null if they are known to match, a response if too
   * many wait, else 'later': the exchange is then resumed with null or with `refusal`.
   */
  check(x: Exchange, credentials: Credentials, hash: string, refusal: OwnAnswer): OwnAnswer | null | 'later' {
    const pair = this.verified.pairOf(hash, credentials);
    if (this.verified.has(pair)) {
      x.user = credentials.user;
      return null;
    }
    const same = this.checks.get(pair);
    if (same !== undefined) {
      same.exchanges.push({ x, refusal });
      return 'later';
    }
    const from = clientNetwork(x.client.address);
    if (this.queue.full(from)) this.dropLeft();
    if (this.queue.full(from)) return IMPATIENT;
    if (!this.join(from)) return BUSY;
    const check = { pair, hash, ...credentials, from, exchanges: [{ x, refusal }] };
    this.checks.set(pair, check);
    this.queue.enter(from, check);
    this.next();
    return 'later';
  }

  /** Takes a place in the queue shared by all workers. If it is full, takes that of a client that was wrong recently. */
  private join(from: string): boolean {
    const { semaphore, slot } = this.tools;
    if (semaphore.enqueue(slot)) return true;
    this.dropLeft();
    if (semaphore.enqueue(slot)) return true;
    const gone = this.queue.evictSuspect(from);
    if (gone === null) return false;
    // Its place in the shared count goes to the newcomer.
    this.checks.delete(gone.pair);
    for (const { x } of gone.exchanges) resumeLater(x, BUSY);
    return true;
  }

  /** Drops the checks of clients that have left. */
  private dropLeft(): void {
    const { semaphore, slot } = this.tools;
    this.queue.keep((check) => {
      if (check.exchanges.some(({ x }) => x.status === 0)) return true;
      this.checks.delete(check.pair);
      semaphore.dequeue(slot);
      return false;
    });
  }

  private next(): void {
    const { semaphore, slot, clock, faults } = this.tools;
    this.dropLeft();
    while (this.queue.size > 0 && semaphore.tryAcquire(slot)) this.beginNext();
    if (this.queue.size === 0 || this.retrying) return;
    this.retrying = true;
    clock.after(RETRY_MS, () => {
      this.retrying = false;
      faults.step(() => this.next());
    });
  }

  /** Starts the next check, with the turn that has been acquired. */
  private beginNext(): void {
    const { semaphore, slot } = this.tools;
    let check: Check | null = null;
    try {
      check = this.queue.next();
      semaphore.dequeue(slot);
      if (check === null) semaphore.release(slot);
      else this.begin(check);
    } catch (error) {
      semaphore.release(slot);
      if (check === null) throw error;
      this.checks.delete(check.pair);
      breakOff(check, error);
    }
  }

  private begin(check: Check): void {
    const { compare, log } = this.tools;
    compare(check.password, check.hash).then(
      (fits) => this.over(check, fits, null),
      (error: unknown) => {
        log.error({ err: error }, 'a password could not be checked');
        this.over(check, false, BROKEN);
      },
    );
  }

  /** Releases the turn, even if the rest fails. */
  private readonly over = (check: Check, fits: boolean, broken: OwnAnswer | null): void => {
    const { semaphore, slot, faults } = this.tools;
    semaphore.release(slot);
    this.checks.delete(check.pair);
    try {
      this.settle(check, fits, broken);
    } catch (error) {
      breakOff(check, error);
    }
    // Another worker that waits checks within RETRY_MS. If this one took its turn back at once, the other would never get one.
    if (!this.retrying || !semaphore.othersWait(slot)) faults.step(() => this.next());
  };

  private settle(check: Check, fits: boolean, broken: OwnAnswer | null): void {
    if (fits) {
      this.verified.add(check.pair);
      this.queue.clear(check.from);
    } else if (broken === null) this.queue.blame(check.from);
    for (const { x, refusal } of check.exchanges) {
      if (fits) x.user = check.user;
      resumeLater(x, fits ? null : (broken ?? refusal));
    }
  }
}

/** An exception ended the check. Ends those of its exchanges that have no response yet. */
function breakOff({ exchanges }: Check, error: unknown): void {
  for (const { x } of exchanges) if (x.status === 0) x.client.onFault(error);
}
