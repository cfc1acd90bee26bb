import { crc32 } from 'node:zlib';
import * as z from 'zod';
import { isFramingHeader } from '../../../shared/response-header.ts';
import { type RouteInput, readAppliedRoute, routeSchema } from '../../../shared/route.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import { type Globals, globalsSchema } from '../../../shared/settings.ts';
import { type Claim, type Claims, LAYERS, type Layer } from '../claims/claims.ts';
import { factsOf, type RouteFacts } from '../claims/facts.ts';
import { type ControllerRecord, controllerSchema } from '../controllers/controllers.ts';
import type { SavedEntry, SavedRoute, Store } from './store.ts';

/** The entries read from disk; each is checked separately. */
export class SavedTable {
  readonly claims = new Map<string, Claims>();
  readonly controllers = new Map<string, ControllerRecord>();
  globals: Globals = {};
  /** Routes that are served in a different form than they were saved in. */
  readonly corrected: { readonly domain: string; readonly layer: Layer; readonly claim: Claim }[] = [];
  private readonly leftOut = new Set<string>();
  private readonly log: Log;

  constructor(log: Log) {
    this.log = log;
  }

  /** Whether anything was skipped. */
  get lost(): boolean {
    return this.leftOut.size > 0;
  }

  readGlobals(store: Store): void {
    for (const entry of store.globals()) {
      const judged = judgeEntry(entry, globalsSchema);
      if ('reason' in judged) this.leaveOut('globals', judged, 'ignored damaged globals of the config file in the saved table');
      else this.globals = judged.value;
    }
  }

  readControllers(store: Store): void {
    for (const entry of store.controllers()) {
      const judged = judgeEntry(entry, controllerSchema);
      if ('reason' in judged)
        this.leaveOut(`controller ${entry.name}`, { controller: entry.name, ...judged }, 'ignored a damaged controller in the saved table');
      else this.controllers.set(entry.name, judged.value);
    }
  }

  /** `passed`: every route has already passed the current schema, so its checksum is enough. */
  readRoutes(store: Store, passed: boolean, from?: 'end'): void {
    for (const row of store.routes(from)) {
      const { domain, layer } = row;
      const judged = judgeRoute(row, passed);
      if ('reason' in judged) {
        this.leaveOut(`${layer} ${domain}`, { domain, reason: judged.reason }, 'ignored a damaged route in the saved table');
        continue;
      }
      const { claim, dropped } = judged;
      if (dropped.length > 0) {
        this.log.warn({ domain, headers: dropped }, 'ignored headers of a saved route that the proxy itself sets');
        this.corrected.push({ domain, layer: layer as Layer, claim });
      }
      if (layer === 'hand') this.claims.set(domain, { hand: claim, applied: this.claims.get(domain)?.applied ?? null });
      else this.claims.set(domain, { hand: this.claims.get(domain)?.hand ?? null, applied: claim });
    }
  }

  /** An entry may be read from both ends, but is logged once. */
  private leaveOut(entry: string, fields: object, message: string): void {
    if (this.leftOut.has(entry)) return;
    this.leftOut.add(entry);
    this.log.error(fields, message);
  }
}

type JudgedRoute = { readonly claim: Claim; readonly dropped: readonly string[] } | { readonly reason: string };

function judgeRoute(row: SavedRoute, passed: boolean): JudgedRoute {
  const damage = unsound(row);
  if (damage !== null) return { reason: damage };
  const { json, origin, source, controller, since } = row.claim;
  const route: RouteInput = JSON.parse(json);
  const read = passed ? { facts: factsOf(route) } : readSaved(row.domain, route);
  if ('facts' in read) return { claim: { json, facts: read.facts, origin, source, controller, since }, dropped: [] };
  const { json: corrected, dropped } = withoutFramingHeaders(json);
  const again = dropped.length === 0 ? read : readSaved(row.domain, JSON.parse(corrected));
  return 'facts' in again ? { claim: { ...row.claim, json: corrected, facts: again.facts }, dropped } : read;
}

/** The route without headers that an earlier version accepted and this one rejects. */
function withoutFramingHeaders(json: string): { readonly json: string; readonly dropped: readonly string[] } {
  const dropped: string[] = [];
  const without = (key: string, value: unknown): unknown => {
    if (key !== 'headers' || !Array.isArray(value)) return value;
    return value.filter((header: { readonly name?: unknown } | null) => {
      const name = header?.name;
      if (typeof name !== 'string' || !isFramingHeader(name)) return true;
      dropped.push(name);
      return false;
    });
  };
  return { json: JSON.stringify(JSON.parse(json, without)), dropped };
}

function unsound({ sound, layer }: SavedRoute): string | null {
  if (!sound) return 'its checksum does not match';
  return LAYERS.includes(layer as Layer) ? null : `the layer "${layer}" is unknown`;
}

/** Checks a route against the current schema; it may have been accepted by another one. */
function readSaved(domain: string, saved: RouteInput): { readonly facts: RouteFacts } | { readonly reason: string } {
  const result = readAppliedRoute(saved);
  if ('problem' in result) return { reason: `${result.problem.member}: ${result.problem.reason}` };
  return result.route.domain === domain ? { facts: factsOf(result.route) } : { reason: 'it is saved under a different domain' };
}

/** The result of `routeSchemaHash` when this was built: working it out takes tens of milliseconds. */
declare const BUILT_ROUTE_SCHEMA_HASH: string | undefined;

/** Identifies the current schema of routes, without the texts in it. */
export const routeSchemaHash = (): string => {
  schemaHash ??= typeof BUILT_ROUTE_SCHEMA_HASH === 'string' ? BUILT_ROUTE_SCHEMA_HASH : hashOfRouteSchema();
  return schemaHash;
};

let schemaHash: string | undefined;

const hashOfRouteSchema = (): string =>
  crc32(JSON.stringify(z.toJSONSchema(routeSchema, { io: 'input', unrepresentable: 'any', override: withoutWords }))).toString(16);

function withoutWords({ jsonSchema }: { readonly jsonSchema: { title?: unknown; about?: unknown; description?: unknown } }): void {
  delete jsonSchema.title;
  delete jsonSchema.about;
  delete jsonSchema.description;
}

function judgeEntry<T>(entry: SavedEntry, schema: z.ZodType<T>): { readonly value: T } | { readonly reason: string } {
  if (!entry.sound) return { reason: 'its checksum does not match' };
  const result = schema.safeParse(JSON.parse(entry.json));
  if (result.success) return { value: result.data };
  const issue = result.error.issues[0];
  return { reason: `${issue?.path.join('.') || 'value'}: ${issue?.message ?? 'is not valid'}` };
}
