import type { ZodType } from 'zod';
import { type RouteSpec, readRoute } from '../../shared/route.ts';
import type { Log } from '../../shared/runtime/log.ts';
import { type Globals, globalsSchema } from '../../shared/settings.ts';
import { type Claims, LAYERS, type Layer, NOBODY } from './claims.ts';
import { type ControllerRecord, controllerSchema } from './controllers.ts';
import type { SavedEntry, SavedRoute, Store } from './store.ts';

/** What has been read from disk, entry by entry: each one is judged on its own. */
export class Saved {
  readonly claims = new Map<string, Claims>();
  readonly controllers = new Map<string, ControllerRecord>();
  globals: Globals = {};
  private readonly leftOut = new Set<string>();
  private readonly log: Log;

  constructor(log: Log) {
    this.log = log;
  }

  /** Whether anything was left out. */
  get lost(): boolean {
    return this.leftOut.size > 0;
  }

  readGlobals(store: Store): void {
    for (const entry of store.globals()) {
      const judged = judgeEntry(entry, globalsSchema);
      if ('reason' in judged) this.leaveOut('globals', judged, 'the saved globals of the config file are damaged and are left out');
      else this.globals = judged.value;
    }
  }

  readControllers(store: Store): void {
    for (const entry of store.controllers()) {
      const judged = judgeEntry(entry, controllerSchema);
      if ('reason' in judged)
        this.leaveOut(`controller ${entry.name}`, { controller: entry.name, ...judged }, 'a saved controller is damaged and is left out');
      else this.controllers.set(entry.name, judged.value);
    }
  }

  readRoutes(store: Store, from?: 'end'): void {
    for (const row of store.routes(from)) {
      const judged = judgeRoute(row);
      if ('reason' in judged) {
        this.leaveOut(
          `${row.layer} ${row.domain}`,
          { domain: row.domain, reason: judged.reason },
          'a saved route is damaged and is left out',
        );
        continue;
      }
      const { json, origin, controller, since } = row;
      const claim = { json, origin, source: judged.route.source, controller, since };
      this.claims.set(row.domain, { ...(this.claims.get(row.domain) ?? NOBODY), [row.layer]: claim });
    }
  }

  /** An entry may be met from both ends; it is named once. */
  private leaveOut(entry: string, fields: object, message: string): void {
    if (this.leftOut.has(entry)) return;
    this.leftOut.add(entry);
    this.log.error(fields, message);
  }
}

/** A row on its own: its checksum, its place, and its route by the same schema that took it in. */
function judgeRoute(row: SavedRoute): { readonly route: RouteSpec } | { readonly reason: string } {
  if (!row.sound) return { reason: 'its checksum does not fit' };
  if (!LAYERS.includes(row.layer as Layer)) return { reason: `the layer "${row.layer}" is unknown` };
  const result = readRoute(JSON.parse(row.json));
  if ('problem' in result) return { reason: `${result.problem.member}: ${result.problem.reason}` };
  return result.route.domain === row.domain ? result : { reason: 'it is saved under another domain' };
}

function judgeEntry<T>(entry: SavedEntry, schema: ZodType<T>): { readonly value: T } | { readonly reason: string } {
  if (!entry.sound) return { reason: 'its checksum does not fit' };
  const result = schema.safeParse(JSON.parse(entry.json));
  if (result.success) return { value: result.data };
  const issue = result.error.issues[0];
  return { reason: `${issue?.path.join('.') || 'value'}: ${issue?.message ?? 'is not valid'}` };
}
