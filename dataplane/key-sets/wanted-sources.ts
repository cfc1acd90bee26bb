import { type KeySource, sourceName } from '../../shared/policy/jwt/key-source.ts';
import type { RouteSpec } from '../../shared/route.ts';

/** The sources of keys that a route names, by name. The route was validated before it was published. */
export function wantedSources(json: string): Map<string, KeySource> {
  const route: RouteSpec = JSON.parse(json);
  const sources = [route, ...route.handles].flatMap(({ jwt }) => jwt?.key_source ?? []);
  return new Map(sources.map((source) => [sourceName(source), source]));
}
