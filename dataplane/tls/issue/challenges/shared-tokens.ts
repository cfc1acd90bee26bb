import * as z from 'zod';
import { type Clock, sleep } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log/log.ts';
import type { DirectoryStore } from '../../store/directory-store.ts';

/** How often other instances' tokens are polled (ms), and how long they get to find ours and pass them to their workers. */
const POLL_MS = 1_000;
const FOUND_MS = 1_500;
/** How often an instance announces itself (ms), and how long an announcement is valid. */
const ANNOUNCE_MS = 30_000;
const BELIEVED_MS = 100_000;
/** Leftovers of a crash are deleted after this time (ms). */
const STALE_MS = 3_600_000;

const recordSchema = z.object({ at: z.number(), keyAuthorization: z.string().default(''), name: z.string().optional() });

export type SharedToken = {
  readonly token: string;
  readonly keyAuthorization: string;
  /** The name that a TLS-ALPN-01 challenge is for. One of HTTP-01 is found by its token. */
  readonly name?: string | undefined;
};

export type SharedTokensTools = {
  readonly store: DirectoryStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Our id among the instances that share the store. */
  readonly instance: string;
  /** Receives all current tokens of other instances, the newest last. Resolves when they are answered. */
  found(tokens: readonly SharedToken[]): Promise<void>;
};

/**
 * Shares tokens among instances that use one store: the authority may connect to a machine other than the one
 * that ordered, or to a process that has just taken over. Tokens stay in the store while their challenge is pending.
 */
export class SharedTokens {
  private readonly tools: SharedTokensTools;
  private readonly ours = new Set<string>();
  private seen = '';
  private ends: (() => void)[] = [];

  constructor(tools: SharedTokensTools) {
    this.tools = tools;
  }

  start(): void {
    if (this.ends.length > 0) return;
    const { clock } = this.tools;
    const guarded = (task: () => Promise<void>, failure: string) => () =>
      void task().catch((error: unknown) => this.logFailure(error, failure));
    const announce = guarded(() => this.announce(), 'could not announce this instance in the certificate directory');
    const poll = guarded(() => this.poll(), 'could not read the challenges of other instances in the certificate directory');
    announce();
    poll();
    this.ends = [clock.every(ANNOUNCE_MS, announce), clock.every(POLL_MS, poll)];
  }

  stop(): void {
    for (const end of this.ends) end();
    this.ends = [];
  }

  /** Resolves once other instances answer it as well. @throws the system's error. */
  async put({ token, ...answer }: SharedToken): Promise<void> {
    const { store, clock } = this.tools;
    this.ours.add(token);
    await store.write('challenges', token, JSON.stringify({ at: clock.now(), ...answer }));
    if (await this.hasOtherInstances()) await sleep(clock, FOUND_MS);
  }

  async delete(token: string): Promise<void> {
    if (this.ours.delete(token)) await this.tools.store.write('challenges', token, null);
  }

  /** Reads other instances' tokens. @throws the system's error. */
  async poll(): Promise<void> {
    const { store, found } = this.tools;
    const notes: (SharedToken & { readonly at: number })[] = [];
    for (const token of await store.keys('challenges')) {
      const note = this.ours.has(token) ? null : await this.read('challenges', token, STALE_MS);
      if (note !== null) notes.push({ token, ...note });
    }
    const tokens = notes.sort((one, other) => one.at - other.at).map(({ at: _, ...token }) => token);
    const seen = JSON.stringify(tokens);
    if (seen === (this.seen || '[]')) return;
    this.seen = seen;
    await found(tokens);
  }

  private announce(): Promise<void> {
    const { store, clock, instance } = this.tools;
    return store.write('instances', instance, JSON.stringify({ at: clock.now() }));
  }

  /** Whether other instances have announced themselves recently. */
  private async hasOtherInstances(): Promise<boolean> {
    const { store, instance } = this.tools;
    for (const name of await store.keys('instances')) {
      if (name === instance) continue;
      const note = await this.read('instances', name, BELIEVED_MS);
      if (note !== null) return true;
    }
    return false;
  }

  /** null if it is missing, stale or malformed; the latter two are deleted. */
  private async read(kind: 'instances' | 'challenges', name: string, oldestMs: number): Promise<z.output<typeof recordSchema> | null> {
    const { store, clock } = this.tools;
    const text = await store.read(kind, name);
    if (text === null) return null;
    const note = parse(text);
    if (note !== null && note.at > clock.now() - oldestMs) return note;
    await store.write(kind, name, null);
    return null;
  }

  private logFailure(error: unknown, failure: string): void {
    this.tools.log.debug({ error: String(error) }, failure);
  }
}

function parse(text: string): z.output<typeof recordSchema> | null {
  try {
    return recordSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    // Malformed: the same as none.
    return null;
  }
}
