import type { DatabaseSync, StatementSync } from 'node:sqlite';

const COUNTS = 'host, views, humans, page_views';
/** Days where hours are no longer kept, of all hosts or of some, and hours; `ofHost` restricts them to a host. */
const sumsQuery = (ofHost: string): string => `
  SELECT name, views, humans, pageViews FROM (
    SELECT host, sum(views) AS views, sum(humans) AS humans, sum(page_views) AS pageViews FROM (
      SELECT ${COUNTS} FROM days WHERE at >= $middle AND at < min($last, $boundary) ${ofHost}
      UNION ALL
      SELECT ${COUNTS} FROM hosts CROSS JOIN days ON host = id
        WHERE hours_from > $boundary AND at >= max($middle, $boundary) AND at < min($last, hours_from) ${ofHost}
      UNION ALL
      SELECT ${COUNTS} FROM hours JOIN hosts ON id = host WHERE at >= max($from, $boundary) AND at < $to AND at >= hours_from ${ofHost}
    ) GROUP BY host ORDER BY views DESC LIMIT $most
  ) JOIN hosts ON id = host`;

export type Statements = Readonly<
  Record<
    'hour' | 'putHour' | 'hoursOf' | 'putDay' | 'idOf' | 'putHost' | 'putGroup' | 'mark' | 'putMark' | 'sums' | 'sumsOf',
    StatementSync
  >
>;

export const prepareStatements = (database: DatabaseSync): Statements => ({
  hour: database.prepare('SELECT data FROM hours WHERE host = ? AND at = ?'),
  putHour: database.prepare('INSERT OR REPLACE INTO hours (host, at, views, humans, page_views, data) VALUES (?, ?, ?, ?, ?, ?)'),
  hoursOf: database.prepare('SELECT data FROM hours WHERE host = ? AND at >= ? AND at < ?'),
  putDay: database.prepare('INSERT OR REPLACE INTO days (host, at, views, humans, page_views, data) VALUES (?, ?, ?, ?, ?, ?)'),
  idOf: database.prepare('SELECT id, wildcard, hours_from FROM hosts WHERE name = ?'),
  putHost: database.prepare('INSERT INTO hosts (name, wildcard) VALUES (?, ?)'),
  putGroup: database.prepare('UPDATE hosts SET wildcard = ? WHERE id = ?'),
  mark: database.prepare('SELECT at FROM marks WHERE name = ?'),
  putMark: database.prepare('INSERT OR REPLACE INTO marks (name, at) VALUES (?, ?)'),
  sums: database.prepare(sumsQuery('')),
  sumsOf: database.prepare(sumsQuery('AND host = (SELECT id FROM hosts WHERE name = $host)')),
});
