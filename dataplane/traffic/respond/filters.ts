import type { HandleSpec, RouteSpec } from '../../../shared/route.ts';
import type { Filter } from '../exchange/filter.ts';
import { encoderOf } from './encode/encoder.ts';
import { injectorOf } from './inject/injector.ts';

/** Compiles one kind of filter for a block; `handle` null is the site itself. null if the block has no such filter. */
export type FilterKind = (route: RouteSpec, handle: HandleSpec | null) => Filter | null;

/**
 * The only list of filters, in the order in which they are applied: the one nearest to the upstream comes first. A page gets its script
 * before it is encoded. An error page is replaced before any of them sees it (`relay.ts`).
 */
export const FILTERS: readonly FilterKind[] = [injectorOf, encoderOf];
