import { accessSync, chmodSync, constants, copyFileSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NAME } from '../../../shared/name.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { USAGE_EXIT, UsageError } from '../../../shared/runtime/flags.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import type { Globals } from '../../../shared/settings.ts';
import type { Claims } from '../claims/claims.ts';
import { type ControllerRecord, unsettled } from '../controllers/controllers.ts';
import { UnsavedError } from '../table.ts';
import { markLostBefore } from '../unconfirmed/mark-lost.ts';
import { markUnconfirmed } from '../unconfirmed/unconfirmed.ts';
import { routeSchemaHash, SavedTable } from './saved.ts';
import { SavedWatch } from './saved-watch.ts';
import { DamagedError, OtherVersionError, type Save, Store } from './store.ts';

export const DATABASE = 'routes.db';
/** Added to the name of the database that replaces a damaged one. It has this name only while it is complete and not yet in its place. */
const SALVAGED = '.salvaged';
/** Files in memory (shm_overview(7)); containers have it, too. */
const MEMORY = '/dev/shm';

/** The intact part of what an earlier run saved. */
export type Restored = {
  readonly store: Store;
  readonly watch: SavedWatch;
  readonly claims: Map<string, Claims>;
  readonly controllers: Map<string, ControllerRecord>;
  readonly globals: Globals;
  /** Identifies this boot of the kernel; null if unknown. */
  readonly boot: string | null;
  /** Controllers whose streams stayed open in the process that had the table until now; none after a restart. */
  readonly staying: readonly string[];
};

/**
 * `takenOver`: another process had the table until now, and the confirmations of its targets still count. `unwritable`: why the directory
 * can't be written.
 */
export type RestoreOptions = { readonly boot: string | null; readonly takenOver: boolean; readonly unwritable?: string | null };

/**
 * Reads the saved table entry by entry. Damaged entries are logged and skipped; the others are served.
 * What can be read from a damaged database file is saved in a new one, which then takes its place.
 * If anything was lost, controllers must send a full frame. A controller's route is unconfirmed if the
 * addresses of its targets may belong to something else by now.
 * @throws UsageError if the file can't be opened for a reason other than its content (another process uses it, permissions).
 */
export async function restore(
  stateDir: string,
  clock: Clock,
  log: Log,
  { boot, takenOver, unwritable = null }: RestoreOptions = { boot: null, takenOver: false },
): Promise<Restored> {
  const { store, saved } = unwritable === null ? await read(stateDir, clock, log) : await readCopy(stateDir, unwritable, clock, log);
  const { claims, controllers, globals } = saved;
  markUnconfirmed(claims, (controller, source) => !takenOver || controllers.get(controller)?.doubted.includes(source) !== false);
  if (takenOver) markLostBefore(claims, controllers);
  const staying = takenOver ? [...controllers.values()].filter(({ stays }) => stays).map(({ id }) => id) : [];
  return { store, watch: new SavedWatch(store, log), claims, controllers, globals, boot, staying };
}

async function read(stateDir: string, clock: Clock, log: Log): Promise<{ store: Store; saved: SavedTable }> {
  const path = join(stateDir, DATABASE);
  const saved = new SavedTable(log);
  let store: Store | null = null;
  try {
    // An earlier process ended before the damaged file was replaced.
    if (existsSync(path + SALVAGED)) replaceDamaged(path, clock);
    store = new Store(path);
    store.check();
    saved.readGlobals(store);
    saved.readControllers(store);
    const schemaHash = routeSchemaHash();
    const passed = store.schemaHash() === schemaHash;
    saved.readRoutes(store, passed);
    if (saved.lost) unsettle(saved);
    else if (!passed) await saveCorrected(saved, schemaHash, store, log);
    return { store, saved };
  } catch (error) {
    if (!isCorrupt(error) && !refusesWrites(error, path)) throw unusableAt(path, error);
    if (store !== null) salvage(store, saved, log);
    unsettle(saved);
    try {
      await saveAnew(path, saved);
      const aside = replaceDamaged(path, clock);
      log.error({ file: aside, reason: describe(error), salvaged: saved.claims.size }, 'the saved table was damaged and has been renamed');
      return { store: new Store(path), saved };
    } catch (failure) {
      throw unusableAt(path, failure);
    }
  }
}

/** SQLite reads no table that it can't lock and whose log it can't write, so a copy is read. Changes are refused until they can be saved. */
async function readCopy(stateDir: string, unwritable: string, clock: Clock, log: Log): Promise<{ store: Store; saved: SavedTable }> {
  const path = join(stateDir, DATABASE);
  let folder: string | null = null;
  try {
    folder = temporaryFolder();
    for (const suffix of ['', '-wal']) if (existsSync(path + suffix)) copyWritable(path + suffix, join(folder, DATABASE) + suffix);
    const { store, saved } = await read(folder, clock, log);
    store.close();
    return { store: Store.unsavedAt(path, unwritable), saved };
  } catch (error) {
    throw error instanceof UsageError ? error : unusableAt(path, error);
  } finally {
    if (folder !== null) rmSync(folder, { recursive: true, force: true });
  }
}

function copyWritable(from: string, to: string): void {
  copyFileSync(from, to);
  // It has the mode of the original, which may be for reading only.
  chmodSync(to, 0o600);
}

/** In memory if there is no other place, as in a container whose own file system is read-only. @throws the system's error. */
function temporaryFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), `${NAME}-`));
  } catch (error) {
    if (!existsSync(MEMORY)) throw error;
    return mkdtempSync(join(MEMORY, `${NAME}-`));
  }
}

/** Saves what could be read beside the damaged file, which keeps its name until that is complete. @throws the first error. */
async function saveAnew(path: string, saved: SavedTable): Promise<void> {
  const unfinished = `${path}.new`;
  removeFiles(unfinished);
  let store: Store | null = null;
  try {
    store = new Store(unfinished);
    await store.save(everything(saved));
    store.close();
    // Closing moves everything into the file, unless there is no space for it.
    if (existsSync(`${unfinished}-wal`)) throw new UnsavedError('what could be read from the damaged file could not be saved again');
    renameSync(unfinished, path + SALVAGED);
  } catch (error) {
    store?.close();
    removeFiles(unfinished);
    throw error;
  }
}

/** The exit code says whether a service manager should start the process again: a disk that fails may be back a moment later. */
const unusableAt = (path: string, error: unknown): UsageError =>
  new UsageError(`${NAME} dataplane: can't use ${path}: ${describe(error)}`, sqliteCode(error) === IO_ERROR ? 1 : USAGE_EXIT);

/** Reads each part separately, and routes from both ends, so that those after the damage are found too. */
function salvage(store: Store, saved: SavedTable, log: Log): void {
  const reads = [
    () => saved.readGlobals(store),
    () => saved.readControllers(store),
    () => saved.readRoutes(store, false),
    () => saved.readRoutes(store, false, 'end'),
  ];
  for (const read of reads) {
    try {
      read();
    } catch (error) {
      if (!isCorrupt(error)) throw error;
    }
  }
  closeDamaged(store, log);
}

/** Saves the corrected routes, so that the next start needn't check or correct any. */
async function saveCorrected({ corrected }: SavedTable, schemaHash: string, store: Store, log: Log): Promise<void> {
  try {
    await store.save({ puts: corrected, deletes: [], schemaHash });
  } catch (error) {
    log.warn({ reason: describe(error) }, 'the restored table is served, but the disk accepts no changes at the moment');
  }
}

function unsettle({ controllers }: SavedTable): void {
  for (const [id, controller] of controllers) controllers.set(id, unsettled(controller));
}

/** All that is saved of a table. */
export function everything({
  claims,
  controllers,
  globals,
}: Pick<Restored, 'controllers' | 'globals'> & { readonly claims: ReadonlyMap<string, Claims> }): Save {
  const puts = [...claims].flatMap(([domain, { hand, applied }]) => [
    ...(hand === null ? [] : [{ domain, layer: 'hand' as const, claim: hand }]),
    ...(applied === null ? [] : [{ domain, layer: 'applied' as const, claim: applied }]),
  ]);
  return { puts, deletes: [], globals, controllers: [...controllers.values()], schemaHash: routeSchemaHash() };
}

/** A damaged database may fail to close; its file is renamed anyway. */
function closeDamaged(store: Store, log: Log): void {
  try {
    store.close();
  } catch (error) {
    log.warn({ reason: describe(error) }, 'the damaged table could not be closed cleanly');
  }
}

/**
 * Moves the damaged file aside and the salvaged one in its place; if the process ends meanwhile, the next one continues. The log goes first:
 * beside another database, SQLite would apply it to that one. @returns the new name of the damaged file.
 */
function replaceDamaged(path: string, clock: Clock): string {
  const aside = `${path}.corrupt-${new Date(clock.now()).toISOString().replaceAll(':', '')}`;
  for (const suffix of ['-wal', '-shm', '']) if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
  renameSync(path + SALVAGED, path);
  return aside;
}

function removeFiles(database: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(database + suffix, { force: true });
}

/** SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR and SQLITE_TOOBIG; a row whose JSON does not parse, or with a number that is far too large. */
function isCorrupt(error: unknown): boolean {
  if (error instanceof SyntaxError || error instanceof OtherVersionError || error instanceof DamagedError) return true;
  if (error instanceof RangeError) return true;
  return [1, 11, 18, 26].includes(sqliteCode(error));
}

/** SQLITE_READONLY although the system permits writing: then the header of the file is damaged. */
function refusesWrites(error: unknown, path: string): boolean {
  if (sqliteCode(error) !== 8) return false;
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** SQLITE_IOERR. */
const IO_ERROR = 10;
const sqliteCode = (error: unknown): number => (error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : -1);

function describe(error: unknown): string {
  if (sqliteCode(error) === 5)
    return 'another process is using it (is the data plane already running?); use a different directory with --state-dir PATH';
  return error instanceof Error ? error.message : String(error);
}
