import type { HeaderSpec, RouteSpec } from '../../../shared/route.ts';
import type { Block, Exchange } from '../exchange/exchange.ts';
import { compileCondition, type Test } from '../match/condition.ts';
import { foldsPaths } from '../match/pattern.ts';

/** The maximum number of variants in the cache, so that clients can't exhaust the memory by matching different sets of conditions. */
const MAX_KEPT = 64;

/** A block whose response headers depend on the request. The headers are compiled once for each set of matching conditions. */
export type Variants<B extends Block> = { choose(x: Exchange): B };

/** `block` has the unconditional headers; `headers` are all of them. null if none of them has a condition. */
export function compileVariants<B extends Block>(
  block: B,
  headers: readonly HeaderSpec[],
  route: RouteSpec,
  fieldsFor: (headers: readonly HeaderSpec[]) => Pick<Block, 'fields' | 'ownFields'>,
): Variants<B> | null {
  const conditions = new Map(headers.flatMap(({ match }) => (match ? [[JSON.stringify(match), match] as const] : [])));
  if (conditions.size === 0) return null;
  const tests: readonly Test[] = [...conditions.values()].map((condition) => compileCondition(condition, foldsPaths(route)));
  const names = [...conditions.keys()];
  const kept = new Map<string, B>();
  const build = (held: string): B => {
    const holds = ({ match }: HeaderSpec): boolean => !match || held[names.indexOf(JSON.stringify(match))] === '1';
    return { ...block, ...fieldsFor(headers.filter(holds)) };
  };
  const choose = (x: Exchange): B => {
    let held = '';
    for (const matches of tests) held += matches(x.path, x) ? '1' : '0';
    const known = kept.get(held);
    if (known !== undefined) return known;
    if (kept.size >= MAX_KEPT) kept.clear();
    const built = build(held);
    kept.set(held, built);
    return built;
  };
  return { choose };
}

/** The headers that every request gets. */
export const unconditional = (headers: readonly HeaderSpec[]): HeaderSpec[] => headers.filter(({ match }) => !match);
