import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log.ts';
import { PersistentMap } from '../../store/persistent-map.ts';
import { type RenewalInfo, RenewalInfoError } from './renewal-info-client.ts';
import type { RenewalWindow } from './renewal-time.ts';

/** Questions under way at once, and the least time from one to the next (ms): a start with thousands of certificates is none for the authority. */
const MAX_CONCURRENT_POLLS = 4;
const MIN_INTERVAL_MS = 50;
/** Thousands are answered one by one: what is known is written no more often (ms). */
const GATHER_MS = 10_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A timer of the system holds no more than 24 days, and a laptop sleeps: the time is looked at again at least this often (ms). */
const LONGEST_TIMER_MS = 6 * HOUR_MS;
/** After the first question without an answer, the second and so on (RFC 9773 4.3.3). */
const RETRY_MS = [60_000, 300_000, 1_200_000, HOUR_MS, 6 * HOUR_MS];

/** A certificate that an authority may be asked about. */
export type PolledCertificate = { readonly serial: string; readonly ariId: string | null };

const schema = z.object({
  /** Whom it is about: the serial number of the certificate. */
  serial: z.string(),
  ariId: z.string().nullable(),
  window: z.object({ start: z.number(), end: z.number() }).nullable(),
  /** Milliseconds since 1970. */
  askAt: z.int().min(0),
  failures: z.int().min(0),
});
/** What is known of a name's certificate, also after a restart. */
type SavedRenewalInfo = z.output<typeof schema>;

export type RenewalInfoPollerTools = {
  readonly clock: Clock;
  readonly log: Log;
  readonly stateDir: string;
  /** The certificate of a name that its authority may be asked about; null: there is none. */
  certificate(name: string): PolledCertificate | null;
  /** What the authority calls it, where that is not known yet; null: it has no name for it. */
  ariIdOf(name: string): Promise<string | null>;
  /** Asks. null: this authority gives no advice. @throws Error. */
  fetch(id: string): Promise<RenewalInfo | null>;
  /** Another window is known for this name. */
  changed(name: string): void;
};

type Entry = { cancel: () => void; asking: boolean };

/** Knows when authorities would like certificates to be renewed, by asking about each on its own time, a few at once. */
export class RenewalInfoPoller {
  private readonly tools: RenewalInfoPollerTools;
  private readonly known: PersistentMap<SavedRenewalInfo>;
  private readonly entries = new Map<string, Entry>();
  /** In the order in which they came. */
  private readonly queue = new Set<string>();
  private asking = 0;
  private resting = false;
  private paused = false;

  constructor(tools: RenewalInfoPollerTools) {
    const { stateDir, clock, log } = tools;
    const path = join(stateDir, 'renewals.json');
    const words = { what: 'what authorities advise about renewals', cost: 'after a restart they are asked again' };
    this.tools = tools;
    this.known = new PersistentMap({ path, schema, ...words, gatherMs: GATHER_MS }, clock, log);
  }

  /** These names are to be asked about from now on, and no others. */
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

  /** Another certificate is held for a name, or none any more. */
  certificateChanged(name: string): void {
    this.schedule(name);
  }

  /** The window for the certificate with this serial number, and what an order that replaces it calls it; null: nothing has been answered about it. */
  get(name: string, serial: string): { readonly window: RenewalWindow; readonly ariId: string } | null {
    const known = this.known.get(name);
    if (known === null || known.serial !== serial || known.window === null || known.ariId === null) return null;
    return { window: known.window, ariId: known.ariId };
  }

  /** Asks nothing more. */
  pause(): void {
    this.paused = true;
    for (const { cancel } of this.entries.values()) cancel();
    this.queue.clear();
  }

  resume(): void {
    this.paused = false;
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
    // So much longer than a day was never agreed on: the clock was ahead.
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
      tools.log.debug({ name, reason: String(error), again_in_s: wait / 1_000 }, 'no advice about a renewal');
      this.remember(name, { serial, ariId: id, window: before?.window ?? null, askAt: this.in(wait), failures });
    }
  }

  private remember(name: string, known: SavedRenewalInfo): void {
    if (this.entries.has(name)) this.known.set(name, known);
  }

  private reportChange(name: string, before: RenewalWindow | null, advice: RenewalInfo | null): void {
    const { window = null, explanation = null } = advice ?? {};
    if (before?.start === window?.start && before?.end === window?.end) return;
    if (explanation !== null) this.tools.log.info({ name, explanation }, 'the authority says why a certificate is to be renewed');
    this.tools.changed(name);
  }

  private in(ms: number): number {
    return Math.round(this.tools.clock.now() + ms);
  }
}
