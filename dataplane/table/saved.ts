import { crc32 } from 'node:zlib';
import { type ZodType, z } from 'zod';
import { readAppliedRoute, routeSchema } from '../../shared/route.ts';
import type { Log } from '../../shared/runtime/log.ts';
import { type Globals, globalsSchema } from '../../shared/settings.ts';
import { type Claims, LAYERS, type Layer } from './claims.ts';
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

  /** `passed`: every one has been through today's schema before, so that its checksum is enough. */
  readRoutes(store: Store, passed: boolean, from?: 'end'): void {
    for (const row of store.routes(from)) {
      const { domain, layer, claim } = row;
      const reason = unsound(row) ?? (passed ? null : unusable(row));
      if (reason !== null) this.leaveOut(`${layer} ${domain}`, { domain, reason }, 'a saved route is damaged and is left out');
      else if (layer === 'hand') this.claims.set(domain, { hand: claim, applied: this.claims.get(domain)?.applied ?? null });
      else this.claims.set(domain, { hand: this.claims.get(domain)?.hand ?? null, applied: claim });
    }
  }

  /** An entry may be met from both ends; it is named once. */
  private leaveOut(entry: string, fields: object, message: string): void {
    if (this.leftOut.has(entry)) return;
    this.leftOut.add(entry);
    this.log.error(fields, message);
  }
}

function unsound({ sound, layer }: SavedRoute): string | null {
  if (!sound) return 'its checksum does not fit';
  return LAYERS.includes(layer as Layer) ? null : `the layer "${layer}" is unknown`;
}

/** What the route is by the schema of today, which may be another one than that which took it in. */
function unusable({ domain, claim }: SavedRoute): string | null {
  const result = readAppliedRoute(JSON.parse(claim.json));
  if ('problem' in result) return `${result.problem.member}: ${result.problem.reason}`;
  return result.route.domain === domain ? null : 'it is saved under another domain';
}

/** Names the schema of routes as it is today. */
export const formOfRoutes = (): string =>
  crc32(JSON.stringify(z.toJSONSchema(routeSchema, { io: 'input', unrepresentable: 'any' }))).toString(16);

function judgeEntry<T>(entry: SavedEntry, schema: ZodType<T>): { readonly value: T } | { readonly reason: string } {
  if (!entry.sound) return { reason: 'its checksum does not fit' };
  const result = schema.safeParse(JSON.parse(entry.json));
  if (result.success) return { value: result.data };
  const issue = result.error.issues[0];
  return { reason: `${issue?.path.join('.') || 'value'}: ${issue?.message ?? 'is not valid'}` };
}
