import { join } from 'node:path';
import * as z from 'zod';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log/log.ts';
import { PersistentMap } from '../../store/persistent-map.ts';
import { type RenewalInfo, RenewalInfoError } from './renewal-info-client.ts';
import type { RenewalWindow } from './renewal-time.ts';

/**
 * Concurrent polls and the minimum interval between two of them (ms), so that starting with thousands of certificates does not flood the
 * authority.
 */
const MAX_CONCURRENT_POLLS = 4;
const MIN_INTERVAL_MS = 50;
/** Answers arrive one by one for thousands of names, so writes are batched for this long (ms). */
const GATHER_MS = 10_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Timers are limited to 24 days and stop while a laptop sleeps, so the clock is checked at least this often (ms). */
const LONGEST_TIMER_MS = 6 * HOUR_MS;
/** Backoff after the first failed poll, the second and so on (RFC 9773 4.3.3). */
const RETRY_MS = [60_000, 300_000, 1_200_000, HOUR_MS, 6 * HOUR_MS];

/** A certificate whose renewal information is polled. */
export type PolledCertificate = { readonly serial: string; readonly ariId: string | null };

const schema = z.object({
  /** The serial number of the certificate that this is about. */
  serial: z.string(),
  ariId: z.string().nullable(),
  window: z.object({ start: z.number(), end: z.number() }).nullable(),
  /** Milliseconds since 1970. */
  askAt: z.int().min(0),
  failures: z.int().min(0),
});
/** The renewal information for a name's certificate, kept over restarts. */
type SavedRenewalInfo = z.output<typeof schema>;

export type RenewalInfoPollerTools = {
  readonly clock: Clock;
  readonly log: Log;
  readonly stateDir: string;
  /** The certificate of a name to poll for; null: none. */
  certificate(name: string): PolledCertificate | null;
  /** Computes its ARI CertID; null if it has none. */
  ariIdOf(name: string): Promise<string | null>;
  /** Fetches renewal information; null: this authority does not support ARI. @throws Error. */
  fetch(id: string): Promise<RenewalInfo | null>;
  /** Called when the window of a name changes. */
  changed(name: string): void;
};

type Entry = { cancel: () => void; asking: boolean };

/** Polls ARI (RFC 9773) for each certificate on its own schedule, a few at a time, and keeps the suggested renewal windows. */
export class RenewalInfoPoller {
  private readonly tools: RenewalInfoPollerTools;
  private readonly known: PersistentMap<SavedRenewalInfo>;
  private readonly entries = new Map<string, Entry>();
  /** First in, first out. */
  private readonly queue = new Set<string>();
  private asking = 0;
  private resting = false;
  private paused = false;

  constructor(tools: RenewalInfoPollerTools) {
    const { stateDir, clock, log } = tools;
    const path = join(stateDir, 'renewals.json');
    const words = { what: 'the renewal information of authorities', cost: 'after a restart it is fetched again' };
    this.tools = tools;
    this.known = new PersistentMap({ path, schema, ...words, gatherMs: GATHER_MS }, clock, log);
  }

  /** Replaces the set of names that are polled. */
  setNames(names: Iterable<string>): void {
    const wanted = new Set(names);
    for (const [name, { cancel }] of this.entries) {
      if (wanted.has(name)) continue;
      cancel();
      this.entries.delete(name);
      this.known.set(name, null);
    }
    for (const name of wanted) {
      if (this.entries.has(name)) continue;
      this.entries.set(name, { cancel: () => undefined, asking: false });
      this.schedule(name);
    }
  }

  /** A different certificate is now served for a name, or none. */
  certificateChanged(name: string): void {
    this.schedule(name);
  }

  /** The renewal window and CertID for the certificate with this serial number; null if unknown. */
  get(name: string, serial: string): { readonly window: RenewalWindow; readonly ariId: string } | null {
    const known = this.known.get(name);
    if (known === null || known.serial !== serial || known.window === null || known.ariId === null) return null;
    return { window: known.window, ariId: known.ariId };
  }

  /** Stops polling. Resolves when what is known is on disk, and nothing more is written. */
  pause(): Promise<void> {
    this.paused = true;
    for (const { cancel } of this.entries.values()) cancel();
    this.queue.clear();
    return this.known.release();
  }

  resume(): void {
    this.paused = false;
    this.known.reclaim();
    for (const name of this.entries.keys()) this.schedule(name);
  }

  private schedule(name: string): void {
    const entry = this.entries.get(name);
    if (entry === undefined || entry.asking || this.paused) return;
    entry.cancel();
    const subject = this.tools.certificate(name);
    if (subject === null) return;
    const known = this.known.get(name);
    const wait = known?.serial === subject.serial ? known.askAt - this.tools.clock.now() : 0;
    // No poll is ever scheduled this far ahead: the clock was wrong.
    if (wait <= 0 || wait > DAY_MS + HOUR_MS) {
      this.queue.add(name);
      return this.startNext();
    }
    entry.cancel = this.tools.clock.after(Math.min(wait, LONGEST_TIMER_MS), () => this.schedule(name));
  }

  private startNext(): void {
    if (this.resting || this.paused || this.asking >= MAX_CONCURRENT_POLLS) return;
    for (const name of this.queue) {
      this.queue.delete(name);
      const entry = this.entries.get(name);
      const subject = this.tools.certificate(name);
      if (entry === undefined || entry.asking || subject === null) continue;
      this.throttle();
      this.asking++;
      entry.asking = true;
      void this.poll(name, subject).finally(() => {
        this.asking--;
        entry.asking = false;
        this.schedule(name);
        this.startNext();
      });
      return;
    }
  }

  private throttle(): void {
    this.resting = true;
    this.tools.clock.after(MIN_INTERVAL_MS, () => {
      this.resting = false;
      this.startNext();
    });
  }

  private async poll(name: string, { serial, ariId }: PolledCertificate): Promise<void> {
    const { tools } = this;
    const earlier = this.known.get(name);
    const before = earlier?.serial === serial ? earlier : null;
    let id = ariId ?? before?.ariId ?? null;
    try {
      id ??= await tools.ariIdOf(name);
      const advice = id === null ? null : await tools.fetch(id);
      this.remember(name, {
        serial,
        ariId: id,
        window: advice?.window ?? null,
        askAt: this.in(advice?.retryAfterMs ?? DAY_MS),
        failures: 0,
      });
      this.reportChange(name, before?.window ?? null, advice);
    } catch (error) {
      const failures = (before?.failures ?? 0) + 1;
      const step = RETRY_MS[Math.min(failures, RETRY_MS.length) - 1] ?? DAY_MS;
      const wait = Math.max(step, error instanceof RenewalInfoError ? error.retryAfterMs : 0);
      tools.log.debug({ name, reason: String(error), again_in_s: wait / 1_000 }, 'no renewal information');
      this.remember(name, { serial, ariId: id, window: before?.window ?? null, askAt: this.in(wait), failures });
    }
  }

  private remember(name: string, known: SavedRenewalInfo): void {
    if (this.entries.has(name)) this.known.set(name, known);
  }

  private reportChange(name: string, before: RenewalWindow | null, advice: RenewalInfo | null): void {
    const { window = null, explanation = null } = advice ?? {};
    if (before?.start === window?.start && before?.end === window?.end) return;
    if (explanation !== null) this.tools.log.info({ name, explanation }, 'the authority explains its suggested renewal window');
    this.tools.changed(name);
  }

  private in(ms: number): number {
    return Math.round(this.tools.clock.now() + ms);
  }
}
