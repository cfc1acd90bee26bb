import type { HandleSpec, RouteSpec } from '../../../shared/route.ts';
import type { Filter } from '../exchange/filter.ts';

/** Compiles the filter of one kind for a block; `handle` null is the site itself. null where the block has none of it. */
export type FilterKind = (route: RouteSpec, handle: HandleSpec | null) => Filter | null;

/** The only list of filters, in the order in which an answer meets them: the one nearest to the upstream first. */
export const FILTERS: readonly FilterKind[] = [];
