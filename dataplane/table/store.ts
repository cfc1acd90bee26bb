import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import type { Globals } from '../../shared/settings.ts';
import type { Claim, Layer } from './claims.ts';
import type { ControllerRecord } from './controllers.ts';
import { UnsavedError } from './table.ts';

/** Rows written in one turn of the event loop: about 10 ms. */
const STEP = 2_000;
/** The write-ahead log is cut back to this size (bytes) after a checkpoint. */
const LOG_LIMIT = 16_777_216;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS routes (
    domain TEXT NOT NULL, layer TEXT NOT NULL, json TEXT NOT NULL, origin TEXT, controller TEXT, since INTEGER NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY (domain, layer)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS controllers (
    id TEXT PRIMARY KEY, epoch INTEGER NOT NULL, revision TEXT NOT NULL, sources TEXT NOT NULL, settled INTEGER NOT NULL, last_applied INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID;
`;

/** One change of what is on disk: all of it, or nothing. */
export type Save = {
  readonly puts: readonly { readonly domain: string; readonly layer: Layer; readonly claim: Claim }[];
  readonly deletes: readonly { readonly domain: string; readonly layer: Layer }[];
  readonly controller?: ControllerRecord;
  readonly globals?: Globals;
};

type RouteRow = {
  domain: string;
  layer: string;
  json: string;
  origin: string | null;
  controller: string | null;
  since: number;
  checksum: number;
};
type ControllerRow = { id: string; epoch: number; revision: string; sources: string; settled: number; last_applied: number };

/** A saved row as it was found; `sound` is false when its checksum does not fit. */
export type SavedRoute = {
  readonly domain: string;
  readonly layer: string;
  readonly json: string;
  readonly origin: string | null;
  readonly controller: string | null;
  readonly since: number;
  readonly sound: boolean;
};

/** The table on disk: SQLite with a write-ahead log, where a commit is on the disk before it returns. */
export class Store {
  readonly path: string;
  private database: DatabaseSync;
  private statements: Statements;

  /** @throws the database's error when the file can't be opened, is none, or belongs to a running process. */
  constructor(path: string) {
    this.path = path;
    this.database = open(path);
    this.statements = prepare(this.database);
  }

  *routes(): Generator<SavedRoute> {
    for (const row of this.database.prepare('SELECT * FROM routes').iterate()) {
      const { domain, layer, json, origin, controller, since, checksum } = row as RouteRow;
      yield { domain, layer, json, origin, controller, since, sound: checksum === checksumOf(domain, layer, json) };
    }
  }

  controllers(): ControllerRecord[] {
    return (this.database.prepare('SELECT * FROM controllers').all() as ControllerRow[]).map((row) => ({
      id: row.id,
      epoch: row.epoch,
      revision: JSON.parse(row.revision),
      sources: JSON.parse(row.sources),
      settled: row.settled === 1,
      lastApplied: row.last_applied,
    }));
  }

  /** The saved globals of the config file as JSON, or undefined. */
  globals(): string | undefined {
    return (this.database.prepare("SELECT json FROM settings WHERE name = 'globals'").get() as { json: string } | undefined)?.json;
  }

  /** Writes one change in one transaction, in steps that leave the event loop free. @throws UnsavedError; then nothing is changed. */
  async save(change: Save): Promise<void> {
    try {
      this.database.exec('BEGIN IMMEDIATE');
      let written = 0;
      for (const { domain, layer, claim } of change.puts) {
        this.statements.put.run(
          domain,
          layer,
          claim.json,
          claim.origin,
          claim.controller,
          claim.since,
          checksumOf(domain, layer, claim.json),
        );
        if (++written % STEP === 0) await nextTurn();
      }
      for (const { domain, layer } of change.deletes) {
        this.statements.delete.run(domain, layer);
        if (++written % STEP === 0) await nextTurn();
      }
      if (change.controller !== undefined) this.putController(change.controller);
      if (change.globals !== undefined) this.statements.globals.run(JSON.stringify(change.globals));
      this.database.exec('COMMIT');
    } catch (error) {
      this.undo();
      throw new UnsavedError(`the change could not be saved: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  close(): void {
    this.database.close();
  }

  private putController({ id, epoch, revision, sources, settled, lastApplied }: ControllerRecord): void {
    this.statements.controller.run(id, epoch, JSON.stringify(revision), JSON.stringify(sources), settled ? 1 : 0, lastApplied);
  }

  /** After a failed write the handle may be in any state: a fresh one is in a known state. */
  private undo(): void {
    try {
      if (this.database.isTransaction) this.database.exec('ROLLBACK');
    } catch {
      this.database.close();
      this.database = open(this.path);
      this.statements = prepare(this.database);
    }
  }
}

type Statements = {
  readonly put: StatementSync;
  readonly delete: StatementSync;
  readonly controller: StatementSync;
  readonly globals: StatementSync;
};

function open(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  try {
    // One process owns the table: a second one is told so by the lock, not by what it overwrites.
    database.exec(
      `PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = ${LOG_LIMIT};`,
    );
    database.exec(SCHEMA);
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
}

function prepare(database: DatabaseSync): Statements {
  return {
    put: database.prepare(
      'INSERT OR REPLACE INTO routes (domain, layer, json, origin, controller, since, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)',
    ),
    delete: database.prepare('DELETE FROM routes WHERE domain = ? AND layer = ?'),
    controller: database.prepare(
      'INSERT OR REPLACE INTO controllers (id, epoch, revision, sources, settled, last_applied) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    globals: database.prepare("INSERT OR REPLACE INTO settings (name, json) VALUES ('globals', ?)"),
  };
}

const checksumOf = (domain: string, layer: string, json: string): number => crc32(`${domain}\n${layer}\n${json}`);
