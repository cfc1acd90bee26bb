import { BOT_NAMES, BOTS, type BotName } from '../../../../shared/policy/under-attack/bots.ts';
import type { BotClaim, BotVerdict } from '../../protocol.ts';

/** Addresses that a worker remembers of each kind; the oldest are forgotten first. */
const MAX_KNOWN = 4_096;
/** Claims per second that a worker has looked up. Those of further addresses wait for another request. */
const MAX_CLAIMS = 20;
/** How long a claim without an answer is not repeated (ms). */
const PENDING_MS = 10_000;

/** The clients known to a worker that claim to be search engines. The main thread verifies them. */
export class Bots {
  private readonly claim: (claim: BotClaim) => void;
  private readonly verified = new Map<string, number>();
  /** Those that are not, or not known yet. Forged ones are many, and must not evict the others. */
  private readonly others = new Map<string, number>();
  private second = 0;
  private claims = 0;

  constructor(claim: (claim: BotClaim) => void) {
    this.claim = claim;
  }

  /** Whether this address is known to belong to the search engine (`now` in ms since 1970). If nothing is known, it is looked up. */
  isVerified(bot: BotName, address: string, now: number): boolean {
    const key = `${bot} ${address}`;
    if ((this.verified.get(key) ?? 0) > now) return true;
    if ((this.others.get(key) ?? 0) > now) return false;
    const second = Math.floor(now / 1_000);
    if (second !== this.second) this.claims = 0;
    this.second = second;
    if (this.claims >= MAX_CLAIMS) return false;
    this.claims++;
    remember(this.others, key, now + PENDING_MS);
    this.claim({ bot, address });
    return false;
  }

  learn({ bot, address, verified, until }: BotVerdict): void {
    const key = `${bot} ${address}`;
    this.others.delete(key);
    this.verified.delete(key);
    remember(verified ? this.verified : this.others, key, until);
  }
}

function remember(known: Map<string, number>, key: string, until: number): void {
  known.delete(key);
  known.set(key, until);
  if (known.size > MAX_KNOWN) for (const oldest of known.keys()) if (known.delete(oldest)) break;
}

/** The search engine that a User-Agent names, if it is one of these. */
export function compileClaims(allowed: readonly BotName[] = BOT_NAMES): (userAgent: string) => BotName | null {
  if (allowed.length === 0) return () => null;
  // One pass for the many that name none.
  const any = new RegExp(allowed.flatMap((bot) => BOTS[bot].agents).join('|'), 'i');
  return (userAgent) => {
    const found = any.exec(userAgent)?.[0].toLowerCase();
    return found === undefined ? null : (allowed.find((bot) => BOTS[bot].agents.some((agent) => agent === found)) ?? null);
  };
}
