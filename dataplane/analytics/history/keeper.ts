import { renameSync } from 'node:fs';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import type { DomainReport } from '../../traffic/protocol.ts';
import { csvOf, type HistorySource, historyOf } from './answer.ts';
import { DamagedHistoryError } from './history-file.ts';
import { PlausibleClock } from './plausible-clock.ts';
import type { RangeQuery } from './range.ts';
import { Recent } from './recent.ts';
import { ALL_HOSTS, DAY, HistoryStore, HOUR, type HostSums, type Retention, type Row } from './store.ts';

export type KeeperTools = {
  readonly path: string;
  readonly retention: Retention;
  readonly clock: Clock;
  readonly log: Log;
};

export type AnswerFormat = 'json' | 'csv';

/** `too fine`: hours are kept since that time only (ms since 1970). `unavailable`: why the file can't be read now, as a sentence. */
export type HistoryAnswer =
  | { readonly kind: 'history'; readonly text: string }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'too fine'; readonly since: number }
  | { readonly kind: 'unavailable'; readonly reason: string };

/**
 * Keeps the history: counts in memory, which are saved every few seconds; queries read both. A failure of the file never stops
 * counting: counts that can't be saved wait, within bounds, and a damaged file is renamed.
 */
export class HistoryKeeper {
  private readonly tools: KeeperTools;
  private readonly recent = new Recent();
  private store: HistoryStore | null = null;
  private reason = 'it has not been opened yet';
  private dates: PlausibleClock | null = null;
  private sweeping: Iterator<void> | null = null;
  private sweptHour = 0;
  /** Whether the time of day was implausible at the last sweep. */
  private doubtful = false;
  /** The last warning, so that one that repeats every few seconds is logged once. */
  private warned = '';
  /** Why the file could not be used since counts were last saved; null if it could. */
  private unusable: string | null = null;

  constructor(tools: KeeperTools) {
    this.tools = tools;
    this.open();
  }

  add(reports: readonly DomainReport[]): void {
    const now = this.tools.clock.now();
    for (const report of reports) this.recent.add(report, now);
  }

  /** Why the history can't be read or saved; null if it can. */
  get failure(): string | null {
    return this.store === null ? this.reason : this.unusable;
  }

  /** Saves the counts; those that can't be saved are kept for the next time. */
  save(): void {
    this.open();
    const { store } = this;
    this.unusable = null;
    for (const [hour, hosts] of this.recent.drain()) {
      try {
        if (store === null) throw new Error(this.reason);
        store.add(hosts, hour);
      } catch (error) {
        this.recent.putBack(hour, hosts);
        this.failed(error);
      }
    }
    if (this.failure === null && this.warned !== '') {
      this.tools.log.info({ file: this.tools.path }, 'the history can be saved again');
      this.warned = '';
    }
    if (this.recent.dropped > 0) {
      this.tools.log.warn(
        { dropped: this.recent.dropped },
        'too much history waits for the disk: counts of the last seconds are missing from it',
      );
      this.recent.dropped = 0;
    }
    if (this.store !== null && this.store.damaged > 0) {
      this.tools.log.warn({ rows: this.store.damaged }, 'damaged rows of the history were skipped');
      this.store.damaged = 0;
    }
  }

  /** Removes old counts, one step at a time. @returns whether there are more steps. */
  sweep(): boolean {
    const hour = Math.floor(this.tools.clock.now() / HOUR);
    try {
      if (this.sweeping === null && (hour !== this.sweptHour || this.tooLarge()))
        this.sweeping = this.store?.sweep(this.dateFor(this.store)) ?? null;
      this.sweptHour = hour;
      if (this.sweeping?.next().done) this.sweeping = null;
    } catch (error) {
      this.sweeping = null;
      this.failed(error);
    }
    return this.sweeping !== null;
  }

  /** `host` ALL_HOSTS is all of them together. */
  answer(host: string, asked: RangeQuery, format: AnswerFormat): HistoryAnswer {
    const { store } = this;
    if (store === null) return { kind: 'unavailable', reason: this.reason };
    try {
      if (host !== ALL_HOSTS && !store.has(host) && !this.recent.has(host)) return { kind: 'unknown' };
      const hoursFrom = store.hoursFrom(host);
      const tooFine = asked.step === HOUR && asked.from < hoursFrom;
      if (tooFine && asked.orDays === undefined) return { kind: 'too fine', since: hoursFrom };
      const range: RangeQuery = tooFine ? { ...asked, step: DAY } : asked;
      const source: HistorySource = {
        rows: (name, from, to) => this.rows(store, name, from, to),
        busiest: (from, to, most) => this.busiest(store, from, to, most),
        since: (name, step) => this.since(store, name, step),
      };
      const now = this.recent.visitorsNow(host, this.tools.clock.now());
      const history = historyOf(source, host, range, now);
      return { kind: 'history', text: format === 'csv' ? csvOf(history) : JSON.stringify(history) };
    } catch (error) {
      this.failed(error);
      return { kind: 'unavailable', reason: this.reason };
    }
  }

  /** Removes everything about a host, a part in each step. Between them, counts are saved and queries answered. */
  *forget(host: string): Generator<void, HistoryAnswer> {
    const { store } = this;
    if (store === null) return { kind: 'unavailable', reason: this.reason };
    try {
      const known = store.has(host) || this.recent.has(host);
      this.recent.forget(host);
      const steps = store.forget(host);
      let step = steps.next();
      for (; !step.done; step = steps.next()) {
        yield;
        if (this.store !== store) return { kind: 'unavailable', reason: 'the history was closed before all was deleted' };
      }
      if (step.value !== null)
        this.tools.log.warn(
          { file: this.tools.path, error: step.value },
          'the history may still contain parts of what an earlier version deleted; the next deletion tries again to overwrite them',
        );
      return known ? { kind: 'history', text: '' } : { kind: 'unknown' };
    } catch (error) {
      this.failed(error);
      return { kind: 'unavailable', reason: this.reason };
    }
  }

  close(): void {
    this.save();
    this.store?.close();
    this.store = null;
  }

  private *rows(store: HistoryStore, host: string, from: number, to: number): Generator<Row> {
    yield* store.rows(host, from, to);
    for (const [at, name, period] of this.recent.all()) if (name === host && at >= from && at < to) yield { at, span: HOUR, period };
  }

  /** A host that is not among the busiest of the file may be with what is not in the file yet. */
  private busiest(store: HistoryStore, from: number, to: number, most: number): HostSums[] {
    const sums = new Map(store.sums(from, to, { most: most + 1 }).map((sum) => [sum.host, sum]));
    for (const [at, host, { views, humans, pageViews }] of this.recent.all()) {
      if (at < from || at >= to) continue;
      const saved = sums.get(host) ?? store.sums(from, to, { host })[0] ?? { views: 0, humans: 0, pageViews: 0 };
      sums.set(host, { host, views: saved.views + views, humans: saved.humans + humans, pageViews: saved.pageViews + pageViews });
    }
    sums.delete(ALL_HOSTS);
    return [...sums.values()].sort((a, b) => b.views - a.views || (a.host < b.host ? -1 : 1)).slice(0, most);
  }

  /** Hours that were removed may still be counted in days. */
  private since(store: HistoryStore, host: string, step: RangeQuery['step']): number | null {
    let first = store.since(host) ?? Number.POSITIVE_INFINITY;
    for (const [at, name] of this.recent.all()) if (name === host) first = Math.min(first, at);
    if (first === Number.POSITIVE_INFINITY) return null;
    return step === HOUR ? Math.max(first, store.hoursFrom(host)) : first;
  }

  /** The time from which ages are computed for deletions; null if nothing may be deleted. */
  private dateFor(store: HistoryStore): number | null {
    const { clock, log } = this.tools;
    this.dates ??= new PlausibleClock(clock, store.sweptAt);
    const { ahead } = this.dates;
    const date = this.dates.read();
    if (date === null && !this.doubtful)
      log.warn(
        { days_ahead: Math.round(ahead / DAY) },
        'the clock differs from what the history expects: nothing is removed for its age until it has done so for a day',
      );
    this.doubtful = date === null;
    return date;
  }

  private tooLarge(): boolean {
    return this.store !== null && this.store.usedBytes > this.tools.retention.maxBytes;
  }

  private open(): void {
    if (this.store !== null) return;
    const { path, retention } = this.tools;
    try {
      this.store = new HistoryStore(path, retention);
    } catch (error) {
      if (!isDamaged(error)) return this.failed(error);
      this.setAside(error);
      try {
        this.store = new HistoryStore(path, retention);
      } catch (again) {
        this.failed(again);
      }
    }
  }

  private failed(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.reason = reason;
    if (isDamaged(error)) {
      this.store?.close();
      this.store = null;
      this.sweeping = null;
      this.setAside(error);
      return;
    }
    this.unusable = reason;
    if (this.warned === reason) return;
    this.warned = reason;
    this.tools.log.warn({ file: this.tools.path, error: reason }, 'the history can’t be saved and is kept in memory');
  }

  private setAside(error: unknown): void {
    const { path, clock, log } = this.tools;
    const aside = `${path}.damaged-${clock.now()}`;
    try {
      for (const suffix of ['', '-wal', '-shm']) renameIfThere(`${path}${suffix}`, `${aside}${suffix}`);
      log.error({ file: aside, reason: String(error) }, 'the history was damaged: its file was renamed, and a new one begins');
    } catch (failure) {
      log.error({ file: path, reason: String(failure) }, 'the history is damaged and could not be renamed');
    }
  }
}

function renameIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** SQLITE_CORRUPT and SQLITE_NOTADB, damage found by SQLite's own check, and an unknown format. */
const isDamaged = (error: unknown): boolean => {
  const code = (error as { errcode?: number }).errcode ?? 0;
  return (code & 0xff) === 11 || (code & 0xff) === 26 || error instanceof DamagedHistoryError;
};
