import { lookup } from 'node:dns';
import { isIP } from 'node:net';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { socketPath } from '../../../shared/values/address.ts';

/** How long an answer of the system's resolver is used (ms). Containers change addresses; names don't say for how long. */
const FRESH_MS = 30_000;
/** How long the last answer is used on while the resolver itself fails (ms), and how often it is asked then. */
const STALE_MS = 600_000;
const RETRY_MS = 5_000;
/** Names whose addresses are at hand; the one asked for longest ago goes first. */
const MAX_KNOWN = 10_000;

/** Asks the system: an error, or at least one address. */
export type Ask = (host: string, then: (error: NodeJS.ErrnoException | null, addresses: readonly string[]) => void) => void;

type Known = {
  readonly addresses: readonly string[];
  /** When the resolver said so, and until when it is not asked again. */
  readonly at: number;
  until: number;
  /** Whether it has failed since: then nobody waits for it. */
  failing: boolean;
  next: number;
};
type Then = (error: NodeJS.ErrnoException | null, address: string) => void;

/**
 * Host names to addresses through the system's resolver (hosts file and engine names included), asked again
 * every 30 s. Several addresses take turns. A name that is gone (ENOTFOUND) is gone at once: its address may be
 * another's by now. While the resolver can't say, the last answer holds for 10 minutes.
 */
export class Resolver {
  private readonly known = new Map<string, Known>();
  private readonly asking = new Map<string, Then[]>();
  private readonly clock: Clock;
  private readonly ask: Ask;

  constructor(clock: Clock, ask: Ask = askSystem) {
    this.clock = clock;
    this.ask = ask;
  }

  /** An address is its own answer, and so is a socket. */
  resolve(host: string, then: Then): void {
    if (isIP(host) !== 0 || socketPath(host) !== null) return then(null, host);
    const known = this.known.get(host);
    if (known === undefined) return this.refresh(host, then);
    if (this.clock.monotonic() < known.until) return then(null, turn(known));
    if (!known.failing) return this.refresh(host, then);
    this.refresh(host, null);
    then(null, turn(known));
  }

  /** Takes an answer for old whose address did not take a connection: the resolver is asked before the next one. */
  forget(host: string): void {
    const known = this.known.get(host);
    if (known !== undefined && !known.failing) known.until = 0;
  }

  private refresh(host: string, then: Then | null): void {
    const others = this.asking.get(host);
    if (others !== undefined) {
      if (then !== null) others.push(then);
      return;
    }
    const waiting = then === null ? [] : [then];
    this.asking.set(host, waiting);
    this.ask(host, (error, addresses) => {
      this.asking.delete(host);
      const known = error === null ? this.learn(host, addresses) : this.keep(host, error);
      for (const answer of waiting) known === null ? answer(error, '') : answer(null, turn(known));
    });
  }

  private learn(host: string, addresses: readonly string[]): Known {
    const now = this.clock.monotonic();
    const next = this.known.get(host)?.next ?? 0;
    const known = { addresses, at: now, until: now + FRESH_MS, failing: false, next };
    this.known.delete(host);
    this.known.set(host, known);
    const [oldest] = this.known.keys();
    if (this.known.size > MAX_KNOWN && oldest !== undefined) this.known.delete(oldest);
    return known;
  }

  /** What is still to be used after a failure; null for nothing. */
  private keep(host: string, error: NodeJS.ErrnoException): Known | null {
    const known = this.known.get(host);
    const now = this.clock.monotonic();
    if (known !== undefined && error.code !== 'ENOTFOUND' && now - known.at < STALE_MS) {
      known.failing = true;
      known.until = now + RETRY_MS;
      return known;
    }
    this.known.delete(host);
    return null;
  }
}

const turn = (known: Known): string => known.addresses[known.next++ % known.addresses.length] as string;

const askSystem: Ask = (host, then) =>
  lookup(host, { all: true, verbatim: true }, (error, addresses) => {
    if (error === null && addresses.length === 0) return then(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), []);
    then(error, error === null ? addresses.map(({ address }) => address) : []);
  });
