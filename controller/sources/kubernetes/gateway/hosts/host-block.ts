import type { RouteInput } from '../../../../../shared/route.ts';
import type { HttpMatch } from '../../objects/http-route.ts';
import type { Meta } from '../../objects/meta.ts';

/** A block of a host, with what decides its position among those of other objects. */
export type HostBlock = {
  /** How much less specific than the host the name is that its object has the block for; 0: it is the host itself. */
  readonly rank: number;
  readonly match: HttpMatch;
  /** Whether its object is not accepted: with an equal match, it comes after those that are. */
  readonly isRefused: boolean;
  /** Of its object. */
  readonly meta: Meta;
  readonly handle: NonNullable<RouteInput['handles']>[number];
};
