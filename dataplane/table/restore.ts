import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { NAME } from '../../shared/name.ts';
import { type RouteSpec, readRoute } from '../../shared/route.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { UsageError } from '../../shared/runtime/flags.ts';
import type { Log } from '../../shared/runtime/log.ts';
import { type Globals, parseGlobals } from '../../shared/settings.ts';
import { type Claims, LAYERS, type Layer, NOBODY } from './claims.ts';
import type { ControllerRecord } from './controllers.ts';
import { type Save, type SavedRoute, Store } from './store.ts';

export const DATABASE = 'routes.db';

/** What an earlier run left, as far as it can be trusted. */
export type Restored = {
  readonly store: Store;
  readonly claims: Map<string, Claims>;
  readonly controllers: Map<string, ControllerRecord>;
  readonly globals: Globals;
};

/**
 * Reads the saved table entry by entry: what is damaged is named in the log and left out, the rest serves.
 * A file that is no sound database is set aside under another name, and what could be read of it is saved anew.
 * @throws UsageError when the file can't be opened for a reason that no content explains (another process has it, rights).
 */
export async function restore(stateDir: string, clock: Clock, log: Log): Promise<Restored> {
  const path = join(stateDir, DATABASE);
  const salvaged: Pick<Restored, 'claims' | 'controllers'> & { globals: Globals } = {
    claims: new Map(),
    controllers: new Map(),
    globals: {},
  };
  let store: Store | null = null;
  try {
    store = new Store(path);
    read(store, salvaged, log);
    return { store, ...salvaged };
  } catch (error) {
    if (!isCorrupt(error)) throw new UsageError(`${NAME} dataplane: can't use ${path}: ${wordsFor(error)}`);
    if (store !== null) closeDamaged(store, log);
    const aside = setAside(path, clock);
    log.error(
      { file: aside, reason: wordsFor(error), salvaged: salvaged.claims.size },
      'the saved table was damaged and has been set aside',
    );
  }
  const fresh = new Store(path);
  await fresh.save(everything(salvaged));
  return { store: fresh, ...salvaged };
}

function read(
  store: Store,
  into: { claims: Map<string, Claims>; controllers: Map<string, ControllerRecord>; globals: Globals },
  log: Log,
): void {
  const globals = store.globals();
  if (globals !== undefined) into.globals = globalsFrom(globals, log);
  for (const controller of store.controllers()) into.controllers.set(controller.id, controller);
  for (const row of store.routes()) {
    const judged = judge(row);
    if ('reason' in judged) {
      log.error({ domain: row.domain, reason: judged.reason }, 'a saved route is damaged and is left out');
      continue;
    }
    const { json, origin, controller, since } = row;
    const claims = into.claims.get(row.domain) ?? NOBODY;
    into.claims.set(row.domain, { ...claims, [row.layer]: { json, origin, source: judged.route.source, controller, since } });
  }
}

/** A row on its own: its checksum, its place, and its route by the same schema that took it in. */
function judge(row: SavedRoute): { readonly route: RouteSpec } | { readonly reason: string } {
  if (!row.sound) return { reason: 'its checksum does not fit' };
  if (!LAYERS.includes(row.layer as Layer)) return { reason: `the layer "${row.layer}" is unknown` };
  try {
    const result = readRoute(JSON.parse(row.json));
    if ('problem' in result) return { reason: `${result.problem.member}: ${result.problem.reason}` };
    return result.route.domain === row.domain ? result : { reason: 'it is saved under another domain' };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

function globalsFrom(json: string, log: Log): Globals {
  try {
    const parsed = parseGlobals(JSON.parse(json));
    if (parsed.ok) return parsed.value;
    log.error({ reason: parsed.reason }, 'the saved globals are damaged and are left out');
  } catch (error) {
    log.error({ reason: error instanceof Error ? error.message : String(error) }, 'the saved globals are damaged and are left out');
  }
  return {};
}

function everything({
  claims,
  controllers,
  globals,
}: {
  claims: Map<string, Claims>;
  controllers: Map<string, ControllerRecord>;
  globals: Globals;
}): Save {
  const puts = [...claims].flatMap(([domain, { hand, applied }]) => [
    ...(hand === null ? [] : [{ domain, layer: 'hand' as const, claim: hand }]),
    ...(applied === null ? [] : [{ domain, layer: 'applied' as const, claim: applied }]),
  ]);
  const [controller] = controllers.values();
  return { puts, deletes: [], globals, ...(controller && { controller: { ...controller, settled: false } }) };
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
  if (error instanceof SyntaxError) return true;
  const code = sqliteCode(error);
  return code === 11 || code === 26 || code === 1;
}

const sqliteCode = (error: unknown): number => (error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : -1);

function wordsFor(error: unknown): string {
  if (sqliteCode(error) === 5)
    return 'another process is using it (is the data plane running already?); name another directory with --state-dir PATH';
  return error instanceof Error ? error.message : String(error);
}
