import { existsSync, type Stats, statSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { makePrivateFile } from '../../../shared/runtime/private-file.ts';
import type { Globals } from '../../../shared/settings.ts';
import type { Layer, SavedClaim } from '../claims/claims.ts';
import type { ControllerRecord } from '../controllers/controllers.ts';
import { inSteps } from '../steps.ts';
import { UnsavedError } from '../table.ts';

/** The write-ahead log is cut back to this size (bytes) after a checkpoint. */
const LOG_LIMIT = 16_777_216;

/** Stored in the file; a file of another version is not read. */
const SCHEMA_VERSION = 1;
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS routes (
    domain TEXT NOT NULL, layer TEXT NOT NULL, json TEXT NOT NULL, origin TEXT, source TEXT, controller TEXT, since INTEGER NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY (domain, layer)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS controllers (
    id TEXT PRIMARY KEY, json TEXT NOT NULL, checksum INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, json TEXT NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID;
`;

const CLEAR = 'DELETE FROM routes; DELETE FROM controllers; DELETE FROM settings;';

const ROUTE_COLUMNS = 'domain, layer, json, origin, source, controller, since, checksum';

/** One atomic change of what is on disk. */
export type Save = {
  readonly puts: readonly { readonly domain: string; readonly layer: Layer; readonly claim: SavedClaim }[];
  readonly deletes: readonly { readonly domain: string; readonly layer: Layer }[];
  readonly controllers?: readonly ControllerRecord[];
  /** Controllers that are removed, by id. */
  readonly forgotten?: readonly string[];
  readonly globals?: Globals;
  /** Identifies the schema that every saved route has passed. */
  readonly schemaHash?: string;
  /** Whether this is all that is to be saved. */
  readonly whole?: boolean;
};

type RouteRow = [
  domain: string,
  layer: string,
  json: string,
  origin: string | null,
  source: string | null,
  controller: string | null,
  since: number,
  checksum: number,
];
type NamedRow = { name: string; json: string; checksum: number };

/** A saved row; `sound` is false if its checksum does not match. */
export type SavedRoute = {
  readonly domain: string;
  readonly layer: string;
  readonly claim: SavedClaim;
  readonly sound: boolean;
};

/** A saved controller or the saved globals, as JSON. */
export type SavedEntry = { readonly name: string; readonly json: string; readonly sound: boolean };

/** Why a change could not be saved. `size`: the number of its routes. */
export type Unsaved = { readonly reason: string; readonly size: number };

/** The file has an unknown format version. */
export class OtherVersionError extends Error {}

/** The structure of the file is damaged. */
export class DamagedError extends Error {}

/** The table on disk: SQLite with a write-ahead log. A commit is on the disk before it returns. */
export class Store {
  readonly path: string;
  private database: DatabaseSync;
  private statements: Statements;
  private broken = false;
  private file: FileAtPath | null;
  /** Whether the file was missing when it was opened again, so that only later changes are in it. */
  private incomplete = false;
  /** How many changes could not be saved. */
  failures = 0;
  /** The last failure, until a change that is not smaller is saved. */
  unsaved: Unsaved | null = null;

  /** @throws the database's error if the file can't be opened, is not a database, or belongs to a running process. */
  constructor(path: string, database = open(path)) {
    this.path = path;
    this.database = database;
    this.statements = prepare(database);
    this.file = fileAt(path);
  }

  /** A file that can't be written at the moment. The next save opens it. */
  static unsavedAt(path: string, reason: string): Store {
    const store = new Store(path, open(':memory:'));
    store.abandon();
    store.unsaved = { reason, size: 0 };
    return store;
  }

  /** Whether its file was removed while it is open, or another one has taken its place. */
  get displaced(): 'removed' | 'replaced' | null {
    if (this.incomplete) return 'removed';
    if (this.file === null) return null;
    const now = fileAt(this.path);
    if (now === null) return 'removed';
    if (this.broken) return null;
    if (now.id !== this.file.id) return 'replaced';
    // Without its log, the newest changes are missing from it.
    if (this.file.hasLog && !now.hasLog) return 'removed';
    this.file = now;
    return null;
  }

  /** Begins a new file in place of one that was removed. @throws UnsavedError */
  async saveAnew(everything: Save): Promise<void> {
    if (!this.broken) this.abandon();
    await this.save({ ...everything, whole: true });
    this.incomplete = false;
  }

  /** Writes what is saved already, to find out whether that is possible again. @throws UnsavedError */
  async tryAgain(): Promise<void> {
    // This opens the file, if it is not open.
    await this.save({ puts: [], deletes: [] });
    await this.save({ puts: [], deletes: [], schemaHash: this.schemaHash() ?? '' });
    this.unsaved = null;
  }

  /** @throws DamagedError if the file's structure is damaged; its entries may still be readable. */
  check(): void {
    const [found] = Object.values(this.database.prepare('PRAGMA quick_check(1)').get() ?? {});
    if (found !== 'ok') throw new DamagedError(`${found}`.replace(/\s+/g, ' '));
  }

  /** Reads from either end, so that entries after a damaged page can be reached from the other side. */
  *routes(from: 'start' | 'end' = 'start'): Generator<SavedRoute> {
    const order = from === 'start' ? '' : ' ORDER BY domain DESC, layer DESC';
    const rows = this.database.prepare(`SELECT ${ROUTE_COLUMNS} FROM routes${order}`);
    rows.setReturnArrays(true);
    for (const row of rows.iterate() as Iterable<unknown>) {
      const [domain, layer, json, origin, source, controller, since, checksum] = row as RouteRow;
      const claim = { json, origin, source, controller, since };
      yield { domain, layer, claim, sound: checksum === routeChecksum(domain, layer, claim) };
    }
  }

  controllers(): SavedEntry[] {
    return this.entries('SELECT id AS name, json, checksum FROM controllers');
  }

  /** The saved globals of the config file: one entry, or none. */
  globals(): SavedEntry[] {
    return this.entries("SELECT name, json, checksum FROM settings WHERE name = 'globals'");
  }

  /** Writes one change in one transaction, in steps that leave the event loop free. @throws UnsavedError if nothing was changed. */
  async save(change: Save): Promise<void> {
    const size = change.puts.length + change.deletes.length;
    try {
      this.reopen();
      this.database.exec('BEGIN IMMEDIATE');
      if (change.whole) this.database.exec(CLEAR);
      await inSteps(change.puts, ({ domain, layer, claim }) => {
        const { json, origin, source, controller, since } = claim;
        this.statements.put.run(domain, layer, json, origin, source, controller, since, routeChecksum(domain, layer, claim));
      });
      await inSteps(change.deletes, ({ domain, layer }) => this.statements.delete.run(domain, layer));
      for (const controller of change.controllers ?? []) this.putEntry(this.statements.controller, controller.id, controller);
      for (const id of change.forgotten ?? []) this.statements.forget.run(id);
      if (change.globals !== undefined) this.putEntry(this.statements.setting, 'globals', change.globals);
      if (change.schemaHash !== undefined) this.putEntry(this.statements.setting, 'form', change.schemaHash);
      this.database.exec('COMMIT');
      if (this.unsaved !== null && size >= this.unsaved.size) this.unsaved = null;
    } catch (error) {
      this.undo();
      const reason = error instanceof Error ? error.message : String(error);
      this.failures++;
      this.unsaved = { reason, size };
      throw new UnsavedError(`the change could not be saved: ${reason}`);
    }
  }

  close(): void {
    // After a release without a later save, it is already closed.
    if (this.database.isOpen) this.database.close();
  }

  /** Lets another process open the file. The next save opens it again. */
  release(): void {
    this.broken = true;
    // After a takeover that failed, it may still be closed.
    this.close();
  }

  /** Identifies the schema that every saved route has passed; null if unknown. */
  schemaHash(): string | null {
    const [entry] = this.entries("SELECT name, json, checksum FROM settings WHERE name = 'form'");
    return entry?.sound === true ? JSON.parse(entry.json) : null;
  }

  private entries(query: string): SavedEntry[] {
    const rows = this.database.prepare(query).all() as NamedRow[];
    return rows.map(({ name, json, checksum }) => ({ name, json, sound: checksum === entryChecksum(name, json) }));
  }

  private putEntry(statement: StatementSync, name: string, value: ControllerRecord | Globals | string): void {
    const json = JSON.stringify(value);
    statement.run(name, json, entryChecksum(name, json));
  }

  /** If even the rollback fails, the handle may be in any state, so the next save opens a new one. */
  private undo(): void {
    try {
      if (!this.broken && this.database.isTransaction) this.database.exec('ROLLBACK');
    } catch {
      this.abandon();
    }
  }

  private abandon(): void {
    this.broken = true;
    this.close();
  }

  private reopen(): void {
    if (!this.broken) return;
    if (this.file !== null && fileAt(this.path) === null) this.incomplete = true;
    this.database = open(this.path);
    this.statements = prepare(this.database);
    this.file = fileAt(this.path);
    this.broken = false;
  }
}

/** The file at a path, and whether there is a log of it. */
type FileAtPath = { readonly id: string; readonly hasLog: boolean };

/** null if there is none. */
function fileAt(path: string): FileAtPath | null {
  const found: Stats | undefined = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? null : { id: `${found.dev} ${found.ino}`, hasLog: existsSync(`${path}-wal`) };
}

type Statements = {
  readonly put: StatementSync;
  readonly delete: StatementSync;
  readonly controller: StatementSync;
  readonly forget: StatementSync;
  readonly setting: StatementSync;
};

function open(path: string): DatabaseSync {
  // Routes contain password hashes, and other users may have access to the directory.
  if (path !== ':memory:') makePrivateFile(path);
  const database = new DatabaseSync(path);
  try {
    // One process owns the table: the lock stops a second one before it overwrites anything.
    database.exec(
      `PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = ${LOG_LIMIT};`,
    );
    const version = Number(Object.values(database.prepare('PRAGMA user_version').get() ?? {})[0]);
    if (version !== SCHEMA_VERSION && version !== 0) throw new OtherVersionError(`it has the unknown format version ${version}`);
    // This detects a file that can be read but not written before the first change.
    database.exec(`BEGIN; PRAGMA user_version = ${SCHEMA_VERSION}; ROLLBACK;`);
    if (version === 0) database.exec(`BEGIN; ${SCHEMA} PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT;`);
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
}

function prepare(database: DatabaseSync): Statements {
  return {
    put: database.prepare(`INSERT OR REPLACE INTO routes (${ROUTE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`),
    delete: database.prepare('DELETE FROM routes WHERE domain = ? AND layer = ?'),
    forget: database.prepare('DELETE FROM controllers WHERE id = ?'),
    controller: database.prepare('INSERT OR REPLACE INTO controllers (id, json, checksum) VALUES (?, ?, ?)'),
    setting: database.prepare('INSERT OR REPLACE INTO settings (name, json, checksum) VALUES (?, ?, ?)'),
  };
}

/** Checksums cover every column of a row. */
const routeChecksum = (domain: string, layer: string, { json, origin, source, controller, since }: SavedClaim): number =>
  crc32(`${domain}\n${layer}\n${json}\n${origin}\n${source}\n${controller}\n${since}`);
const entryChecksum = (name: string, json: string): number => crc32(`${name}\n${json}`);
