import { accessSync, constants, existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { NAME } from '../../../shared/name.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { UsageError } from '../../../shared/runtime/flags.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import type { Globals } from '../../../shared/settings.ts';
import type { Claims } from '../claims/claims.ts';
import { type ControllerRecord, unsettled } from '../controllers/controllers.ts';
import { inDoubt } from '../unconfirmed/unconfirmed.ts';
import { formOfRoutes, Saved } from './saved.ts';
import { DamagedError, OtherVersionError, type Save, Store } from './store.ts';

export const DATABASE = 'routes.db';

/** What an earlier run left, as far as it can be trusted. */
export type Restored = {
  readonly store: Store;
  readonly claims: Map<string, Claims>;
  readonly controllers: Map<string, ControllerRecord>;
  readonly globals: Globals;
  /** Names this run of the kernel; null where it can't be told. */
  readonly boot: string | null;
};

/** `takenOver`: another process had the table until now, and what that one believed is believed. */
export type Circumstances = { readonly boot: string | null; readonly takenOver: boolean };

/**
 * Reads the saved table entry by entry: what is damaged is named in the log and left out, the rest serves.
 * A file that is no sound database is set aside under another name, and what could be read of it is saved anew.
 * Where anything was lost, controllers are asked for the whole truth again. Where a route of a controller names targets whose
 * addresses may have changed hands since, the route is in doubt.
 * @throws UsageError when the file can't be opened for a reason that no content explains (another process has it, rights).
 */
export async function restore(
  stateDir: string,
  clock: Clock,
  log: Log,
  { boot, takenOver }: Circumstances = { boot: null, takenOver: false },
): Promise<Restored> {
  const { store, saved } = await read(stateDir, clock, log);
  const { claims, controllers, globals } = saved;
  inDoubt(claims, (controller, source) => !takenOver || controllers.get(controller)?.doubted.includes(source) !== false);
  return { store, claims, controllers, globals, boot };
}

async function read(stateDir: string, clock: Clock, log: Log): Promise<{ store: Store; saved: Saved }> {
  const path = join(stateDir, DATABASE);
  const saved = new Saved(log);
  let store: Store | null = null;
  try {
    store = new Store(path);
    store.check();
    saved.readGlobals(store);
    saved.readControllers(store);
    const form = formOfRoutes();
    const passed = store.form() === form;
    saved.readRoutes(store, passed);
    if (saved.lost) unsettle(saved);
    else if (!passed) await remember(saved, form, store, log);
    return { store, saved };
  } catch (error) {
    if (!isCorrupt(error) && !refusesWrites(error, path)) throw unusableAt(path, error);
    if (store !== null) salvage(store, saved, log);
    unsettle(saved);
    const aside = setAside(path, clock);
    log.error({ file: aside, reason: wordsFor(error), salvaged: saved.claims.size }, 'the saved table was damaged and has been set aside');
    return { store: await anew(path, saved), saved };
  }
}

async function anew(path: string, saved: Saved): Promise<Store> {
  try {
    const store = new Store(path);
    await store.save(everything(saved));
    return store;
  } catch (error) {
    throw unusableAt(path, error);
  }
}

const unusableAt = (path: string, error: unknown): UsageError => new UsageError(`${NAME} dataplane: can't use ${path}: ${wordsFor(error)}`);

/** Each part by itself, and routes from both ends, so that what stands behind the damage is found too. */
function salvage(store: Store, saved: Saved, log: Log): void {
  const parts = [
    () => saved.readGlobals(store),
    () => saved.readControllers(store),
    () => saved.readRoutes(store, false),
    () => saved.readRoutes(store, false, 'end'),
  ];
  for (const read of parts) {
    try {
      read();
    } catch (error) {
      if (!isCorrupt(error)) throw error;
    }
  }
  closeDamaged(store, log);
}

/** The next start need not judge every route again, nor mend one. */
async function remember({ mended }: Saved, form: string, store: Store, log: Log): Promise<void> {
  try {
    await store.save({ puts: mended, deletes: [], form });
  } catch (error) {
    log.warn({ reason: wordsFor(error) }, 'the restored table serves, but the disk takes no changes now');
  }
}

function unsettle({ controllers }: Saved): void {
  for (const [id, controller] of controllers) controllers.set(id, unsettled(controller));
}

function everything({ claims, controllers, globals }: Saved): Save {
  const puts = [...claims].flatMap(([domain, { hand, applied }]) => [
    ...(hand === null ? [] : [{ domain, layer: 'hand' as const, claim: hand }]),
    ...(applied === null ? [] : [{ domain, layer: 'applied' as const, claim: applied }]),
  ]);
  return { puts, deletes: [], globals, controllers: [...controllers.values()], form: formOfRoutes() };
}

/** A damaged database may refuse even to be closed in order; its file is moved away all the same. */
function closeDamaged(store: Store, log: Log): void {
  try {
    store.close();
  } catch (error) {
    log.warn({ reason: wordsFor(error) }, 'the damaged table could not be closed in order');
  }
}

function setAside(path: string, clock: Clock): string {
  const aside = `${path}.corrupt-${new Date(clock.now()).toISOString().replaceAll(':', '')}`;
  for (const suffix of ['', '-wal', '-shm']) if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
  return aside;
}

/** SQLITE_CORRUPT and SQLITE_NOTADB, and JSON of a row that is none. */
function isCorrupt(error: unknown): boolean {
  if (error instanceof SyntaxError || error instanceof OtherVersionError || error instanceof DamagedError) return true;
  const code = sqliteCode(error);
  return code === 11 || code === 26 || code === 1;
}

/** SQLITE_READONLY though the system lets us write: the head of the file says so, and it is damaged. */
function refusesWrites(error: unknown, path: string): boolean {
  if (sqliteCode(error) !== 8) return false;
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

const sqliteCode = (error: unknown): number => (error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : -1);

function wordsFor(error: unknown): string {
  if (sqliteCode(error) === 5)
    return 'another process is using it (is the data plane running already?); name another directory with --state-dir PATH';
  return error instanceof Error ? error.message : String(error);
}
