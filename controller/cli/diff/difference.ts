import { redacted } from '../../../shared/redacted.ts';
import { type RouteSpec, routeSchema } from '../../../shared/route.ts';
import type { FullRoute } from '../../../shared/wire/status.ts';
import { canonical } from '../../desired/canonical.ts';

/** One member of a route or one setting, before and after; undefined if absent. */
export type MemberChange = { readonly name: string; readonly before: unknown; readonly after: unknown };

export type RouteChange = {
  readonly domain: string;
  /**
   * `same`: nothing to apply, but a manually posted route overrides it. `conflicted`: it belongs to another controller and would be
   * rejected.
   */
  readonly change: 'added' | 'changed' | 'removed' | 'conflicted' | 'same';
  /** A manually posted route overrides it, before and after. */
  readonly hidden_by_hand: boolean;
  /** Its position in the file; null if the file no longer contains it. */
  readonly origin: string | null;
  /** The owner of a `conflicted` route. */
  readonly owner: string | null;
  /** The differences between the running route and the file's; for an overridden route, between the manually posted one and the file's. */
  readonly members: readonly MemberChange[];
};

/**
 * What applying `wanted`, the complete state of `source`, would change as `controller` on a data plane. Sorted by domain; unchanged
 * routes are left out.
 */
export function routeChanges(
  running: readonly FullRoute[],
  wanted: readonly RouteSpec[],
  { controller, source }: { controller: string; source: string },
): RouteChange[] {
  const served = new Map(running.map((route) => [route.domain, route]));
  const named = new Set(wanted.map(({ domain }) => domain));
  // Served routes are reported without their secrets.
  const changes = wanted.map((route) => changeTo(served.get(route.domain), redacted(route), controller));
  const gone = running.filter((route) => !named.has(route.domain) && ownedBy(route, controller, source)).map(removal);
  return [...changes.filter((change) => change !== null), ...gone].sort((a, b) => (a.domain < b.domain ? -1 : 1));
}

function changeTo(served: FullRoute | undefined, wanted: RouteSpec, controller: string): RouteChange | null {
  const { domain } = wanted;
  const base = { domain, hidden_by_hand: served?.controller === null, origin: wanted.origin ?? null, owner: null };
  if (served === undefined) return { ...base, change: 'added', members: [] };
  if (served.controller !== null && served.controller !== controller)
    return { ...base, change: 'conflicted', owner: served.controller, members: [] };
  const members = membersThatDiffer(served, wanted);
  if (served.controller !== null) return members.length > 0 ? { ...base, change: 'changed', members } : null;
  if (served.overrides === null) return { ...base, change: 'added', members };
  return { ...base, change: membersThatDiffer(served.overrides, wanted).length > 0 ? 'changed' : 'same', members };
}

const ownedBy = (route: FullRoute, controller: string, source: string): boolean =>
  route.controller === null ? route.overrides?.source === source : route.controller === controller && route.source === source;

function removal({ domain, controller }: FullRoute): RouteChange {
  return { domain, change: 'removed', hidden_by_hand: controller === null, origin: null, owner: null, members: [] };
}

/** The members of a route, without what the data plane adds, and without `origin`, which does not affect behavior. */
const COMPARED = new Set(Object.keys(routeSchema.shape).filter((name) => name !== 'domain' && name !== 'origin'));

const compared = (route: RouteSpec): object => Object.fromEntries(Object.entries(route).filter(([name]) => COMPARED.has(name)));

function membersThatDiffer(before: RouteSpec, after: RouteSpec): MemberChange[] {
  const changes = differing(compared(before), compared(after));
  // `upstream` repeats the first entry of the pool, so the pool is enough.
  return changes.some(({ name }) => name === 'upstreams') ? changes.filter(({ name }) => name !== 'upstream') : changes;
}

function differing(before: object, after: object): MemberChange[] {
  const [a, b] = [before as Readonly<Record<string, unknown>>, after as Readonly<Record<string, unknown>>];
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  return names.filter((name) => canonical(a[name]) !== canonical(b[name])).flatMap((name) => memberChange(name, a[name], b[name]));
}

type Block = { readonly path: string | null };

/** Blocks on the same paths are compared one by one. */
function memberChange(name: string, before: unknown, after: unknown): MemberChange[] {
  if (name !== 'handles' || !Array.isArray(before) || !Array.isArray(after)) return [{ name, before, after }];
  const [a, b] = [before as Block[], after as Block[]];
  const samePaths = canonical(a.map(({ path }) => path)) === canonical(b.map(({ path }) => path));
  if (!samePaths) return [{ name, before, after }];
  return a.flatMap((block, at) =>
    differing(block, b[at] as Block).map((change) => ({ ...change, name: `handle ${block.path ?? '*'} ${change.name}` })),
  );
}
