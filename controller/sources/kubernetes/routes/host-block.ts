import type { RouteInput } from '../../../../shared/route.ts';
import type { HttpMatch } from '../objects/http-route.ts';

/** A block of a host, with the match that decides its position among those of other objects. */
export type HostBlock = { readonly match: HttpMatch; readonly handle: NonNullable<RouteInput['handles']>[number] };
