import { lookup } from 'node:dns';
import { isIP } from 'node:net';
import type { Clock } from '../runtime/clock.ts';
import { socketPath } from '../values/address.ts';

/** How long an answer of the system's resolver is used (ms). Containers change addresses, and the resolver gives no TTL. */
const FRESH_MS = 30_000;
/** How long the last answer stays in use while the resolver itself fails (ms), and how often it is retried then. */
const STALE_MS = 600_000;
const RETRY_MS = 5_000;
/** How long requests wait for the resolver while there is a last answer (ms): one whose servers are silent takes many seconds to fail. */
const WAIT_MS = 500;
/** The maximum number of names in the cache; the least recently used one is evicted first. */
const MAX_KNOWN = 10_000;

/** Looks a name up: an error, or at least one address. */
export type LookUp = (host: string, then: (error: NodeJS.ErrnoException | null, addresses: readonly string[]) => void) => void;

type CachedAnswer = {
  readonly addresses: readonly string[];
  /** When the resolver answered, and until when the answer is used. */
  readonly at: number;
  until: number;
  /** Whether the resolver has failed since, or is silent; if so, requests do not wait for it. */
  failing: boolean;
  next: number;
};
/** Receives all addresses in the order in which they are tried: the one whose turn it is comes first. None after an error. */
type Then = (error: NodeJS.ErrnoException | null, addresses: readonly string[]) => void;

/**
 * Resolves host names through the system's resolver (including the hosts file and engine names), again
 * every 30 s. Several addresses take turns. A name that no longer exists (ENOTFOUND) is dropped at once: its address may be
 * another's by now. While the resolver fails otherwise, or is silent, the last answer is used for up to 10 minutes.
 */
export class Resolver {
  private readonly known = new Map<string, CachedAnswer>();
  private readonly pending = new Map<string, Then[]>();
  private readonly clock: Clock;
  private readonly lookUp: LookUp;

  constructor(clock: Clock, lookUp: LookUp = lookUpInSystem) {
    this.clock = clock;
    this.lookUp = lookUp;
  }

  /** IP addresses and sockets need no resolution. */
  resolve(host: string, then: Then): void {
    if (isIP(host) !== 0 || socketPath(host) !== null) return then(null, [host]);
    const known = this.known.get(host);
    if (known === undefined) return this.refresh(host, then);
    if (this.clock.monotonic() < known.until) return then(null, turn(known));
    if (!known.failing) return this.refresh(host, then);
    this.refresh(host, null);
    then(null, turn(known));
  }

  /** The last answer, which is renewed if it is due; null for none. */
  latest(host: string): readonly string[] | null {
    const known = this.known.get(host);
    if (known !== undefined && this.clock.monotonic() >= known.until) this.refresh(host, null);
    return known?.addresses ?? null;
  }

  /** Expires an answer whose address did not accept a connection: the name is resolved again before the next connection. */
  forget(host: string): void {
    const known = this.known.get(host);
    if (known !== undefined && !known.failing) known.until = 0;
  }

  private refresh(host: string, then: Then | null): void {
    const others = this.pending.get(host);
    if (others !== undefined) {
      if (then !== null) others.push(then);
      return;
    }
    const waiting = then === null ? [] : [then];
    this.pending.set(host, waiting);
    const cancelWait = this.clock.after(WAIT_MS, () => this.proceed(host, waiting));
    this.lookUp(host, (error, addresses) => {
      cancelWait();
      this.pending.delete(host);
      const known = error === null ? this.learn(host, addresses) : this.keep(host, error);
      for (const answer of waiting) known === null ? answer(error, []) : answer(null, turn(known));
    });
  }

  /** The resolver is silent: those who wait for it, and all others until it responds, use the last answer if there is one. */
  private proceed(host: string, waiting: Then[]): void {
    const known = this.usable(host);
    if (known === null) return;
    known.failing = true;
    for (const answer of waiting.splice(0)) answer(null, turn(known));
  }

  private learn(host: string, addresses: readonly string[]): CachedAnswer {
    const now = this.clock.monotonic();
    const next = this.known.get(host)?.next ?? 0;
    const known = { addresses, at: now, until: now + FRESH_MS, failing: false, next };
    this.known.delete(host);
    this.known.set(host, known);
    const [oldest] = this.known.keys();
    if (this.known.size > MAX_KNOWN && oldest !== undefined) this.known.delete(oldest);
    return known;
  }

  /** The answer that is still usable after a failure; null for none. */
  private keep(host: string, error: NodeJS.ErrnoException): CachedAnswer | null {
    const known = error.code === 'ENOTFOUND' ? null : this.usable(host);
    if (known === null) this.known.delete(host);
    else {
      known.failing = true;
      known.until = this.clock.monotonic() + RETRY_MS;
    }
    return known;
  }

  /** The last answer, if it is not too old to be used; null for none. */
  private usable(host: string): CachedAnswer | null {
    const known = this.known.get(host);
    return known !== undefined && this.clock.monotonic() - known.at < STALE_MS ? known : null;
  }
}

function turn(known: CachedAnswer): readonly string[] {
  const { addresses } = known;
  const first = known.next++ % addresses.length;
  return addresses.length === 1 ? addresses : [...addresses.slice(first), ...addresses.slice(0, first)];
}

const lookUpInSystem: LookUp = (host, then) =>
  lookup(host, { all: true, verbatim: true }, (error, addresses) => {
    if (error === null && addresses.length === 0) return then(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), []);
    then(error, error === null ? addresses.map(({ address }) => address) : []);
  });
