import type { RouteSpec } from '../../../../shared/route.ts';
import type { Domain } from '../../../../shared/values/host.ts';
import type { UndatedProblem } from '../../source.ts';
import type { UndatedReading } from '../../transition-times.ts';
import type { Container } from '../engine/container.ts';
import type { LastGood } from '../labels/last-good.ts';
import type { AddressContext } from '../network/choose-address.ts';

/** The name of this source, as routes carry it. */
export const DOCKER_SOURCE = 'docker';

/** All that routes of containers are made of: the same snapshot gives the same routes. */
export type EngineSnapshot = AddressContext & {
  /** Labelled ones, running or not, the oldest first. */
  readonly containers: readonly Container[];
  /** Ids of those that were told to end and have not ended yet. */
  readonly draining: ReadonlySet<string>;
  /** What was remembered of sites the last time. */
  readonly lastGood: LastGood;
  /** Milliseconds since 1970. */
  readonly now: number;
};

/** What one site of a container says of itself; its peers are known when all were asked. */
export type SiteReading = Omit<UndatedReading, 'peers' | 'domains'> & { readonly domains: readonly Domain[] };

export type Translation = {
  /** Sorted by domain, each with source and origin. */
  readonly routes: readonly RouteSpec[];
  readonly problems: readonly UndatedProblem[];
  readonly readings: readonly UndatedReading[];
  /** What is to be remembered until the next time. */
  readonly lastGood: LastGood;
};
