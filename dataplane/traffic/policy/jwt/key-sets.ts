import { wasJustFetched } from '../../../../shared/policy/jwt/just-fetched.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { guardExchange } from '../../exchange/faults.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import type { PublishedKeySet } from '../../protocol.ts';
import { compileVerifier, type Verifier } from './signature.ts';

/** How long a request waits at most for keys that are being fetched (ms). */
const WAIT_MS = 2_000;
/** How many requests of a worker may wait. Further ones are answered at once. */
const MAX_WAITING = 256;

type WaitingRequest = { readonly x: Exchange; readonly decide: () => OwnAnswer | null };
type KeySet = Omit<PublishedKeySet, 'keys'> & {
  readonly keys: string;
  readonly count: number;
  /** null while there are no keys. The same as before for the same keys. */
  readonly verify: Verifier | null;
};

type KeySetTools = {
  readonly clock: Clock;
  /** Tells the main thread that the keys of a set are missing. */
  readonly wanted: (name: string) => void;
};

/** The keys that the main thread fetches, as a worker uses them, and the requests that wait for them. */
export class KeySets {
  private readonly tools: KeySetTools;
  private readonly sets = new Map<string, KeySet>();
  private readonly waiting = new Map<string, { readonly since: number; readonly list: WaitingRequest[] }>();
  private count = 0;

  constructor(tools: KeySetTools) {
    this.tools = tools;
  }

  get(name: string): KeySet | null {
    return this.sets.get(name) ?? null;
  }

  /** Whether newer keys may arrive soon: the first ones are being fetched, or the present ones were not requested just now. */
  mayWait(name: string): boolean {
    if (this.count >= MAX_WAITING) return false;
    const set = this.sets.get(name);
    if (set === undefined) return true;
    return set.failure === null && (set.verify === null || !wasJustFetched(set.triedAt, this.tools.clock.now()));
  }

  /** Requests newer keys. The exchange is resumed with the result of `decide` when they are there, or after a while without them. */
  wait(name: string, x: Exchange, decide: () => OwnAnswer | null): void {
    const room = this.waiting.get(name);
    this.count++;
    if (room !== undefined) return void room.list.push({ x, decide });
    this.waiting.set(name, { since: this.tools.clock.monotonic(), list: [{ x, decide }] });
    this.tools.wanted(name);
  }

  /** Resumes those that have waited for too long. */
  tick(): void {
    const now = this.tools.clock.monotonic();
    for (const [name, { since }] of this.waiting) if (now - since >= WAIT_MS) this.release(name);
  }

  apply(published: readonly PublishedKeySet[]): void {
    const before = new Map(this.sets);
    this.sets.clear();
    for (const { keys, ...rest } of published) {
      const old = before.get(rest.name);
      const text = JSON.stringify(keys);
      const verify = old?.keys === text ? old.verify : keys && compileVerifier(keys);
      this.sets.set(rest.name, { ...rest, keys: text, count: keys?.length ?? 0, verify });
    }
    for (const name of [...this.waiting.keys()])
      if ((this.sets.get(name)?.triedAt ?? 0) !== (before.get(name)?.triedAt ?? 0)) this.release(name);
  }

  private release(name: string): void {
    const list = this.waiting.get(name)?.list ?? [];
    this.waiting.delete(name);
    this.count -= list.length;
    for (const { x, decide } of list) if (x.status === 0) guardExchange(x, () => x.requestPath.resume(x, decide()));
  }
}
