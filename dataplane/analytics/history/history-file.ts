import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makePrivateFile } from '../../../shared/runtime/private-file.ts';
import { prepareStatements, type Statements } from './statements.ts';

/** How long another process of a takeover may hold the file (ms). */
const BUSY_MS = 5_000;
/** The write-ahead log is cut back to this size (bytes) after a checkpoint. */
const LOG_LIMIT = 4_194_304;

/** A rewrite needs a copy of the file, which is then written to the write-ahead log, and some room for counts meanwhile. */
const REWRITE_ROOM = 2.2;

/** Pages that are given back to the disk in one step. */
const STEP_PAGES = 500;

const FORMAT = 1;
/** The mark of a file that has nothing left of rows that were deleted without being overwritten, as by earlier versions. */
const OVERWRITTEN = 'overwritten';
/** Rows are removed group by group. This is the group of the hosts that have a route of their own; others are in that of their wildcard. */
export const OWN_ROUTES = '';

/** Columns that files of earlier versions do not have, and that earlier versions do not use. */
const HOST_COLUMNS = [`wildcard TEXT NOT NULL DEFAULT '${OWN_ROUTES}'`, 'hours_from INTEGER NOT NULL DEFAULT 0'];
const SCHEMA = `
  CREATE TABLE hosts (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, ${HOST_COLUMNS.join(', ')});
  CREATE TABLE hours (
    host INTEGER NOT NULL, at INTEGER NOT NULL, views INTEGER NOT NULL, humans INTEGER NOT NULL, page_views INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (host, at)
  ) WITHOUT ROWID;
  CREATE TABLE days (
    host INTEGER NOT NULL, at INTEGER NOT NULL, views INTEGER NOT NULL, humans INTEGER NOT NULL, page_views INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (host, at)
  ) WITHOUT ROWID;
  CREATE INDEX hours_at ON hours (at);
  CREATE INDEX days_at ON days (at);
  CREATE TABLE marks (name TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO marks VALUES ('${OVERWRITTEN}', 1);
  PRAGMA user_version = ${FORMAT};
`;

/** The file's structure is damaged, or it has an unknown format. */
export class DamagedHistoryError extends Error {}

/** Opens a history file, and creates it if it is not there. @throws the database's error if it can't be opened or is not a history file. */
export function openHistory(path: string): { readonly database: DatabaseSync; readonly statements: Statements } {
  makePrivateFile(path);
  const database = new DatabaseSync(path);
  try {
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS};`);
    const version = pragma(database, 'user_version');
    if (version !== 0 && version !== FORMAT) throw new DamagedHistoryError(`it has the unknown format version ${version}`);
    if (version === 0) create(database);
    addColumns(database);
    database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = ${LOG_LIMIT};`);
    // What is deleted is overwritten, not only no longer found.
    database.exec('PRAGMA secure_delete = ON');
    const [found] = Object.values(database.prepare('PRAGMA quick_check(1)').get() ?? {});
    if (found !== 'ok') throw new DamagedHistoryError(`${found}`.replace(/\s+/g, ' '));
    return { database, statements: prepareStatements(database) };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** All or nothing: the disk may be full, or the process killed. */
function create(database: DatabaseSync): void {
  database.exec('PRAGMA auto_vacuum = INCREMENTAL');
  transaction(database, () => {
    // Another process of a takeover may have been faster.
    if (pragma(database, 'user_version') === 0) database.exec(SCHEMA);
  });
}

/** Files of earlier versions: the groups of their hosts are added as these are counted again. */
function addColumns(database: DatabaseSync): void {
  const missing = (): string[] => {
    const columns = database.prepare('PRAGMA table_info(hosts)').all();
    const known = new Set(columns.map(({ name }) => name));
    return HOST_COLUMNS.filter((column) => !known.has(column.split(' ')[0] ?? ''));
  };
  if (missing().length === 0) return;
  transaction(database, () => {
    // Another process of a takeover may have been faster.
    for (const column of missing()) database.exec(`ALTER TABLE hosts ADD COLUMN ${column}`);
  });
}

/** Gives the room of what was deleted back to the disk, a part in each step. */
export function* cutBack(database: DatabaseSync): Generator<void> {
  let before = Number.POSITIVE_INFINITY;
  for (let free = pragma(database, 'freelist_count'); free > 0 && free < before; free = pragma(database, 'freelist_count')) {
    before = free;
    database.exec(`PRAGMA incremental_vacuum(${STEP_PAGES})`);
    yield;
  }
}

/**
 * Leaves nothing of what was deleted in the write-ahead log, either, whose pages would stay there until others take their place. If another
 * process of a takeover is reading, they do. @returns why something may be left of what an earlier version deleted; null if nothing is.
 */
export function* wipe(
  database: DatabaseSync,
  path: string,
  { mark, putMark }: Pick<Statements, 'mark' | 'putMark'>,
): Generator<void, string | null> {
  let left: string | null = null;
  if (mark.get(OVERWRITTEN) === undefined) {
    left = rewrite(database, path);
    if (left === null) putMark.run(OVERWRITTEN, 1);
  }
  yield* cutBack(database);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  return left;
}

/** This takes the thread some seconds for a large file, and the disk as much room as the file, twice. @returns why it failed. */
function rewrite(database: DatabaseSync, path: string): string | null {
  const folder = dirname(path);
  try {
    // Else it would fill the disk before it fails, at each deletion.
    const { bavail, bsize } = statfsSync(folder);
    if (bavail * bsize < REWRITE_ROOM * statSync(path).size) return 'there is too little space to rewrite it';
    // Read-only containers have no other folder for the copy.
    database.exec(`PRAGMA temp_store_directory = '${folder.replaceAll("'", "''")}'`);
    database.exec('VACUUM');
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

export const pragma = (database: DatabaseSync, name: string): number =>
  Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);

export function transaction(database: DatabaseSync, act: () => void): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    act();
    database.exec('COMMIT');
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}
