import type { DatabaseSync } from 'node:sqlite';
import { cutBack, openHistory, pragma, transaction, wipe } from './history-file.ts';
import { Period } from './period.ts';
import type { Statements } from './statements.ts';

/** Milliseconds. */
export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/** A day is rolled up when it has been over for this long (ms): counts reach the file 10 s late at most, twice as late at a takeover. */
const SETTLED_MS = HOUR;
/** Hosts that are rolled up, or rows of a host that are removed, in one transaction. */
const STEP = 200;

/** Bytes that a row takes besides its counts, about. */
const ROW_BYTES = 100;

export type Retention = {
  /** How long hours and days are kept (ms). */
  readonly hoursMs: number;
  readonly daysMs: number;
  /** The file's size (bytes), without the write-ahead log. */
  readonly maxBytes: number;
};

/** Counts of a host, and its group. */
export type Counted = { readonly group: string; readonly period: Period };

/** The counts of one hour or one day that begins at `at` (ms since 1970). */
export type Row = { readonly at: number; readonly span: typeof HOUR | typeof DAY; readonly period: Period };

export type HostSums = { readonly host: string; readonly views: number; readonly humans: number; readonly pageViews: number };

/** The name under which the counts of all hosts together are kept. */
export const ALL_HOSTS = '';

/**
 * The history on disk: a row for each host and hour with traffic, and one for each host and day that is over. Rows merge, so two
 * processes may add to the same hour during a takeover.
 */
export class HistoryStore {
  private readonly path: string;
  private readonly database: DatabaseSync;
  private readonly retention: Retention;
  private readonly statements: Statements;
  /** Rows that could not be read; they are replaced or left out. */
  damaged = 0;

  /** @throws the database's error if the file can't be opened or is not a history file. */
  constructor(path: string, retention: Retention) {
    this.path = path;
    this.retention = retention;
    ({ database: this.database, statements: this.statements } = openHistory(path));
  }

  /** Adds counts to the rows of an hour, all of them or none. @throws the database's error. */
  add(counts: Iterable<readonly [host: string, counted: Counted]>, hour: number): void {
    transaction(this.database, () => {
      for (const [host, { group, period }] of counts) {
        const id = this.idOf(host, group);
        const saved = this.decode(this.statements.hour.get(id, hour));
        // The counts themselves are not changed, because they are added again if this fails.
        saved?.merge(period);
        this.statements.putHour.run(...columns(id, hour, saved ?? period));
      }
    });
  }

  /**
   * Rows of a host from `from` until before `to`: hours, and where they are no longer kept, the days of UTC whose middle is in the range.
   */
  *rows(host: string, from: number, to: number): Generator<Row> {
    const boundary = this.hoursFrom(host);
    const tables = [
      ['days', from - DAY / 2, Math.min(to - DAY / 2, boundary)],
      ['hours', Math.max(from, boundary), to],
    ] as const;
    for (const [table, first, last] of tables) {
      const query = `SELECT at, data FROM ${table} JOIN hosts ON id = host WHERE name = ? AND at >= ? AND at < ? ORDER BY at`;
      for (const row of this.database.prepare(query).iterate(host, first, last)) {
        const period = this.decode(row);
        if (period !== null) yield { at: Number(row.at), span: table === 'days' ? DAY : HOUR, period };
      }
    }
  }

  /** The sums of the hosts with the most views in the same range, or of one host. Clients can invent any number of hosts. */
  sums(from: number, to: number, { most = -1, host = null }: { readonly most?: number; readonly host?: string | null }): HostSums[] {
    const range = { $from: from, $to: to, $middle: from - DAY / 2, $last: to - DAY / 2, $boundary: this.mark('hours_from') };
    const sums = host === null ? this.statements.sums : this.statements.sumsOf;
    const found = sums.all(host === null ? { ...range, $most: most } : { ...range, $most: most, $host: host });
    return found.map(({ name, views, humans, pageViews }) => ({
      host: String(name),
      views: Number(views),
      humans: Number(humans),
      pageViews: Number(pageViews),
    }));
  }

  /** The first moment for which hours of a host are kept (ms since 1970). */
  hoursFrom(host: string): number {
    return Math.max(this.mark('hours_from'), Number(this.statements.idOf.get(host)?.hours_from ?? 0));
  }

  has(host: string): boolean {
    return this.statements.idOf.get(host) !== undefined;
  }

  /** The first hour or day that is kept of a host (ms since 1970); null if nothing is. */
  since(host: string): number | null {
    const id = this.statements.idOf.get(host)?.id;
    if (id === undefined) return null;
    const { first } = this.database
      .prepare(
        'SELECT min(at) AS first FROM (SELECT min(at) AS at FROM hours WHERE host = ? UNION ALL SELECT min(at) FROM days WHERE host = ?)',
      )
      .get(id, id) as { first: number | null };
    return first;
  }

  /**
   * Removes everything about a host, also from what the file keeps of deleted rows, a part in each step, like `sweep`. What it added to
   * `ALL_HOSTS` stays there. @returns why something of what an earlier version deleted may be left; null if nothing is.
   */
  *forget(host: string): Generator<void, string | null> {
    const id = this.statements.idOf.get(host)?.id;
    if (id !== undefined) yield* this.removeHost(Number(id));
    return yield* wipe(this.database, this.path, this.statements);
  }

  /** When old rows were last removed (ms since 1970); 0 if never. */
  get sweptAt(): number {
    return this.mark('swept_at');
  }

  /**
   * Rolls up days that are over and removes rows that are too old or too many, a part in each step; `now` in ms since 1970, null if
   * unknown. The caller runs the steps and may answer queries between them.
   */
  *sweep(now: number | null): Generator<void> {
    if (now !== null) yield* this.removeOld(now);
    while (this.usedBytes > this.retention.maxBytes) {
      const group = this.largestGroup();
      if (group === null) break;
      yield* this.removeOldest(group);
    }
    this.database.exec('DELETE FROM hosts WHERE id NOT IN (SELECT host FROM hours) AND id NOT IN (SELECT host FROM days)');
    yield* cutBack(this.database);
  }

  /** The bytes of the file that are in use. */
  get usedBytes(): number {
    const { database } = this;
    return (pragma(database, 'page_count') - pragma(database, 'freelist_count')) * pragma(database, 'page_size');
  }

  close(): void {
    if (this.database.isOpen) this.database.close();
  }

  private *removeOld(now: number): Generator<void> {
    this.setMark('swept_at', now);
    this.correctMarks(Math.floor(now / DAY) * DAY);
    yield* this.rollUp(now);
    const hoursFrom = Math.floor((now - this.retention.hoursMs) / DAY) * DAY;
    const until = Math.min(hoursFrom, this.mark('rolled_up'));
    if (until > this.mark('hours_from')) this.setMark('hours_from', until);
    yield* this.remove('hours', until);
    yield* this.remove('days', Math.floor((now - this.retention.daysMs) / DAY) * DAY);
  }

  /** Marks from a time when the clock was ahead would hide everything until then. Days that are rolled up again stay the same. */
  private correctMarks(today: number): void {
    if (this.mark('rolled_up') > today) this.setMark('rolled_up', 0);
    if (this.mark('hours_from') > today) this.setMark('hours_from', today);
    this.database.prepare('UPDATE hosts SET hours_from = ? WHERE hours_from > ?').run(today, today);
  }

  private *rollUp(now: number): Generator<void> {
    const end = Math.floor((now - SETTLED_MS) / DAY) * DAY;
    const first = this.oldest('hours');
    if (first === null) return;
    for (let day = Math.max(this.mark('rolled_up'), Math.floor(first / DAY) * DAY); day < end; day += DAY) {
      const hosts = this.database.prepare('SELECT DISTINCT host FROM hours WHERE at >= ? AND at < ?').all(day, day + DAY);
      for (let from = 0; from < hosts.length; from += STEP) {
        transaction(this.database, () => {
          for (const { host } of hosts.slice(from, from + STEP)) this.rollUpHost(Number(host), day);
        });
        yield;
      }
      this.setMark('rolled_up', day + DAY);
    }
  }

  private rollUpHost(host: number, day: number): void {
    const whole = new Period();
    for (const row of this.statements.hoursOf.all(host, day, day + DAY)) {
      const period = this.decode(row);
      if (period !== null) whole.merge(period);
    }
    this.statements.putDay.run(...columns(host, day, whole));
  }

  /** The group that takes most room; null if there are no rows. Hosts that clients invent below a wildcard push no others out of the file. */
  private largestGroup(): string | null {
    const sizes = ['hours', 'days'].map((table) => `SELECT host, sum(length(data) + ${ROW_BYTES}) AS bytes FROM ${table} GROUP BY host`);
    const query = `SELECT wildcard FROM (${sizes.join(' UNION ALL ')}) JOIN hosts ON id = host GROUP BY wildcard ORDER BY sum(bytes) DESC`;
    const found = this.database.prepare(`${query} LIMIT 1`).get()?.wildcard;
    return found === undefined ? null : String(found);
  }

  /** Removes the oldest day of a group: its hours while the day itself is kept, then days. */
  private *removeOldest(group: string): Generator<void> {
    const [hours, days] = [this.oldest('hours', group), this.oldest('days', group)];
    const oldestDay = hours === null ? Number.POSITIVE_INFINITY : Math.floor(hours / DAY) * DAY;
    if (oldestDay < this.mark('rolled_up')) yield* this.removeHours(oldestDay + DAY, group);
    else if (days !== null) yield* this.remove('days', days + DAY, group);
    else if (hours !== null) yield* this.removeHours(hours + HOUR, group);
  }

  private *removeHours(until: number, group: string): Generator<void> {
    const concerned = 'wildcard = ? AND id IN (SELECT host FROM hours WHERE at < ?)';
    // The hours that are left of a day that is not over will be in its row, too.
    const hoursFrom = Math.floor(until / DAY) * DAY;
    this.database.prepare(`UPDATE hosts SET hours_from = ? WHERE ${concerned}`).run(hoursFrom, group, until);
    yield* this.remove('hours', until, group);
  }

  /** Removes the rows of a group; null is all of them. */
  private *remove(table: 'hours' | 'days', before: number, group: string | null = null): Generator<void> {
    const ofGroup = group === null ? '' : ' AND (SELECT wildcard FROM hosts WHERE id = host) = ?';
    const remove = this.database.prepare(`DELETE FROM ${table} WHERE at = ?${ofGroup}`);
    for (let oldest = this.oldest(table, group); oldest !== null && oldest < before; oldest = this.oldest(table, group, oldest)) {
      remove.run(oldest, ...(group === null ? [] : [group]));
      yield;
    }
  }

  private *removeHost(id: number): Generator<void> {
    const tables = ['hours', 'days'];
    for (const table of tables) {
      const some = `host = ? AND at IN (SELECT at FROM ${table} WHERE host = ? LIMIT ${STEP})`;
      const remove = this.database.prepare(`DELETE FROM ${table} WHERE ${some}`);
      while (remove.run(id, id).changes === STEP) yield;
    }
    // Between the steps, some may have been added.
    transaction(this.database, () => {
      for (const table of tables) this.database.prepare(`DELETE FROM ${table} WHERE host = ?`).run(id);
      this.database.prepare('DELETE FROM hosts WHERE id = ?').run(id);
    });
    yield;
  }

  /** The first hour or day after another one of which a group, or null for any, has a row. */
  private oldest(table: 'hours' | 'days', group: string | null = null, after = -1): number | null {
    const query =
      group === null
        ? this.database.prepare(`SELECT min(at) AS at FROM ${table} WHERE at > ?`).get(after)
        : // A cross join, because rows are looked at in the order of their time until one is found.
          this.database
            .prepare(`SELECT at FROM ${table} CROSS JOIN hosts ON id = host WHERE at > ? AND wildcard = ? ORDER BY at LIMIT 1`)
            .get(after, group);
    return query?.at == null ? null : Number(query.at);
  }

  private idOf(host: string, group: string): number {
    const known = this.statements.idOf.get(host);
    if (known === undefined) return Number(this.statements.putHost.run(host, group).lastInsertRowid);
    if (known.wildcard !== group) this.statements.putGroup.run(group, Number(known.id));
    return Number(known.id);
  }

  private decode(row: Record<string, unknown> | undefined): Period | null {
    if (row === undefined) return null;
    try {
      return Period.decode(row.data as Uint8Array);
    } catch {
      // Everything else is readable: one row is no reason to give up the file.
      this.damaged++;
      return null;
    }
  }

  private mark(name: string): number {
    return Number(this.statements.mark.get(name)?.at ?? 0);
  }

  private setMark(name: string, at: number): void {
    this.statements.putMark.run(name, at);
  }
}

const columns = (host: number, at: number, period: Period) =>
  [host, at, period.views, period.humans, period.pageViews, period.encode()] as const;
