import { lookup } from 'node:dns';
import { isIP } from 'node:net';
import type { Clock } from '../../../shared/runtime/clock.ts';

/** How long an answer of the system's resolver is used (ms). Containers change addresses; names don't say for how long. */
const FRESH_MS = 30_000;

type Known = { readonly addresses: readonly string[]; readonly at: number; next: number };

/**
 * Host names to addresses through the system's resolver (hosts file and engine names included), asked
 * again every 30 s. Several addresses take turns. A failure is not remembered.
 */
export class Resolver {
  private readonly known = new Map<string, Known>();
  private readonly asking = new Map<string, ((error: NodeJS.ErrnoException | null, known: Known | null) => void)[]>();
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  resolve(host: string, then: (error: NodeJS.ErrnoException | null, address: string) => void): void {
    if (isIP(host) !== 0) return then(null, host);
    const known = this.known.get(host);
    if (known !== undefined && this.clock.monotonic() - known.at < FRESH_MS) return then(null, turn(known));
    const answered = (error: NodeJS.ErrnoException | null, fresh: Known | null) => then(error, fresh === null ? '' : turn(fresh));
    const others = this.asking.get(host);
    if (others !== undefined) {
      others.push(answered);
      return;
    }
    const waiting = [answered];
    this.asking.set(host, waiting);
    lookup(host, { all: true, verbatim: true }, (error, addresses) => {
      this.asking.delete(host);
      const fresh =
        error !== null || addresses.length === 0
          ? null
          : { addresses: addresses.map(({ address }) => address), at: this.clock.monotonic(), next: 0 };
      if (fresh === null) this.known.delete(host);
      else this.known.set(host, fresh);
      for (const answer of waiting)
        answer(fresh === null ? (error ?? Object.assign(new Error('no address'), { code: 'ENOTFOUND' })) : null, fresh);
    });
  }

  /** Forgets an answer whose address did not take a connection. */
  forget(host: string): void {
    this.known.delete(host);
  }
}

const turn = (known: Known): string => known.addresses[known.next++ % known.addresses.length] as string;
