import type { HandleSpec, RouteSpec } from '../../../shared/route.ts';
import type { Filter } from '../exchange/filter.ts';
import { encoderOf } from './encode/encoder.ts';
import { interceptorOf } from './errors/interceptor.ts';
import { injectorOf } from './inject/injector.ts';

/** Compiles one kind of filter for a block; `handle` null is the site itself. null if the block has no such filter. */
export type FilterKind = (route: RouteSpec, handle: HandleSpec | null) => Filter | null;

/**
 * The only list of filters, in the order they are applied: the one nearest to the upstream comes first. An error page is
 * replaced before anything is done to it, and a page gets its script before it is encoded.
 */
export const FILTERS: readonly FilterKind[] = [interceptorOf, injectorOf, encoderOf];
