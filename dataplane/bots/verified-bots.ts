import { isPrivateAddress } from '../../shared/private-ranges.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Random } from '../../shared/runtime/random.ts';
import type { BotClaim, BotVerdict } from '../traffic/protocol.ts';

/** How long a result is valid (ms), by kind. */
const VALID_MS = { verified: 86_400_000, refuted: 3_600_000, unknown: 300_000 } as const;
/** Results that are remembered of each kind; the oldest are forgotten first. */
const MAX_KNOWN = 8_192;
/** The maximum number of concurrent look-ups, and of look-ups per second. */
const MAX_CONCURRENT = 16;
const MAX_PER_SECOND = 20;
/** Addresses that wait to be looked up. A further one takes the place of any other, so that a flood of forged ones keeps no one out. */
const MAX_WAITING = 256;

type VerifiedBotsOptions = {
  readonly clock: Clock;
  readonly random: Pick<Random, 'fraction'>;
  /** null: DNS does not answer. Never rejects. */
  readonly lookUp: (claim: BotClaim) => Promise<boolean | null>;
  /** To one worker, or to all (null). */
  readonly reply: (verdict: BotVerdict, worker: number | null) => void;
};

/** Finds out by DNS which addresses belong to search engines, at a bounded rate, because senders of requests choose the addresses. */
export class VerifiedBots {
  private readonly options: VerifiedBotsOptions;
  private readonly verified = new Map<string, BotVerdict>();
  private readonly others = new Map<string, BotVerdict>();
  private readonly waiting: BotClaim[] = [];
  /** Those that wait or are looked up. */
  private readonly pending = new Set<string>();
  private inProgress = 0;
  private begun = 0;
  private second = Number.NEGATIVE_INFINITY;
  private resting = false;

  constructor(options: VerifiedBotsOptions) {
    this.options = options;
  }

  /** A worker does not know whether this is true. It hears of the result unless too many others wait. */
  claimed(worker: number, claim: BotClaim): void {
    const key = keyOf(claim);
    const known = this.verified.get(key) ?? this.others.get(key);
    if (known !== undefined && known.until > this.options.clock.now()) return this.options.reply(known, worker);
    if (this.pending.has(key)) return;
    // No search engine crawls from there, and DNS of the internet knows nothing of it.
    if (isPrivateAddress(claim.address)) return this.settle(claim, false);
    this.pending.add(key);
    if (this.waiting.length < MAX_WAITING) this.waiting.push(claim);
    else {
      const at = Math.floor(this.options.random.fraction() * MAX_WAITING);
      this.pending.delete(keyOf(this.waiting[at] as BotClaim));
      this.waiting[at] = claim;
    }
    this.next();
  }

  private next(): void {
    const { clock } = this.options;
    const second = Math.floor(clock.monotonic() / 1_000);
    if (second !== this.second) this.begun = 0;
    this.second = second;
    while (this.inProgress < MAX_CONCURRENT && this.begun < MAX_PER_SECOND) {
      const claim = this.waiting.shift();
      if (claim === undefined) return;
      this.begun++;
      this.inProgress++;
      void this.lookUp(claim);
    }
    if (this.waiting.length === 0 || this.inProgress >= MAX_CONCURRENT || this.resting) return;
    this.resting = true;
    clock.after(1_000, () => {
      this.resting = false;
      this.next();
    });
  }

  private async lookUp(claim: BotClaim): Promise<void> {
    const found = await this.options.lookUp(claim);
    this.inProgress--;
    this.pending.delete(keyOf(claim));
    this.settle(claim, found);
    this.next();
  }

  private settle(claim: BotClaim, found: boolean | null): void {
    const validMs = found === null ? VALID_MS.unknown : found ? VALID_MS.verified : VALID_MS.refuted;
    const verdict = { ...claim, verified: found === true, until: this.options.clock.now() + validMs };
    const key = keyOf(claim);
    this.verified.delete(key);
    this.others.delete(key);
    const known = verdict.verified ? this.verified : this.others;
    known.set(key, verdict);
    if (known.size > MAX_KNOWN) for (const oldest of known.keys()) if (known.delete(oldest)) break;
    this.options.reply(verdict, null);
  }
}

const keyOf = ({ bot, address }: BotClaim): string => `${bot} ${address}`;
