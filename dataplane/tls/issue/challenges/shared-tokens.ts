import { z } from 'zod';
import { type Clock, sleep } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log.ts';
import type { CertStore } from '../../store/cert-store.ts';

/** How often tokens of others are looked for (ms), and how long they are given to find ours and to have their workers answer. */
const POLL_MS = 1_000;
const FOUND_MS = 1_500;
/** How often a process says that it shares the store (ms), and how long that is believed. */
const ANNOUNCE_MS = 30_000;
const BELIEVED_MS = 100_000;
/** What a crash left behind is of no use to anybody after this time (ms). */
const STALE_MS = 3_600_000;

const recordSchema = z.object({ at: z.number(), keyAuthorization: z.string().default('') });

export type SharedToken = { readonly token: string; readonly keyAuthorization: string };

export type SharedTokensTools = {
  readonly store: CertStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Who we are among those that share the store. */
  readonly instance: string;
  /** What others await: all there are. */
  found(tokens: readonly SharedToken[]): void;
};

/**
 * Tokens of HTTP-01 among processes that share a store: an authority may come to another machine than the one that
 * ordered, or to the process that has just taken over. They lie in the store as long as they are awaited.
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
    const announce = guarded(() => this.announce(), 'others that share the certificate directory do not hear of us');
    const poll = guarded(() => this.poll(), 'challenges of others that share the certificate directory are not seen');
    announce();
    poll();
    this.ends = [clock.every(ANNOUNCE_MS, announce), clock.every(POLL_MS, poll)];
  }

  stop(): void {
    for (const end of this.ends) end();
    this.ends = [];
  }

  /** Resolves when others answer it as well. @throws the system's error. */
  async put({ token, keyAuthorization }: SharedToken): Promise<void> {
    const { store, clock } = this.tools;
    this.ours.add(token);
    await store.write('challenges', token, JSON.stringify({ at: clock.now(), keyAuthorization }));
    if (await this.hasOtherInstances()) await sleep(clock, FOUND_MS);
  }

  async delete(token: string): Promise<void> {
    if (this.ours.delete(token)) await this.tools.store.write('challenges', token, null);
  }

  /** Looks for what others await. @throws the system's error. */
  async poll(): Promise<void> {
    const { store, found } = this.tools;
    const tokens: SharedToken[] = [];
    for (const token of await store.keys('challenges')) {
      const note = this.ours.has(token) ? null : await this.read('challenges', token, STALE_MS);
      if (note !== null) tokens.push({ token, keyAuthorization: note.keyAuthorization });
    }
    const seen = JSON.stringify(tokens);
    if (seen === (this.seen || '[]')) return;
    this.seen = seen;
    found(tokens);
  }

  private announce(): Promise<void> {
    const { store, clock, instance } = this.tools;
    return store.write('instances', instance, JSON.stringify({ at: clock.now() }));
  }

  /** Whether others have said lately that they are there. */
  private async hasOtherInstances(): Promise<boolean> {
    const { store, instance } = this.tools;
    for (const name of await store.keys('instances')) {
      if (name === instance) continue;
      const note = await this.read('instances', name, BELIEVED_MS);
      if (note !== null) return true;
    }
    return false;
  }

  /** null where it is gone, too old or none; then it is deleted. */
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
    // A text that is none of ours is worth as much as none.
    return null;
  }
}
