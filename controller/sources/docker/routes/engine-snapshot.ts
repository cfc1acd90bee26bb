import type { RouteSpec } from '../../../../shared/route.ts';
import type { Domain } from '../../../../shared/values/host.ts';
import type { UndatedProblem } from '../../source.ts';
import type { UndatedReading } from '../../transition-times.ts';
import type { Container } from '../engine/container.ts';
import type { AddressContext } from '../network/choose-address.ts';
import type { LastGood } from './last-good.ts';

/** The name of this source in its routes. */
export const DOCKER_SOURCE = 'docker';

/** Everything that the routes of containers are built from: the same snapshot gives the same routes. */
export type EngineSnapshot = AddressContext & {
  /** Labelled containers, running or not, the oldest first. */
  readonly containers: readonly Container[];
  /** Ids of containers that were sent a stop signal and have not stopped yet. */
  readonly draining: ReadonlySet<string>;
  /** What was remembered of sites from the previous snapshot. */
  readonly lastGood: LastGood;
  /** Milliseconds since 1970. */
  readonly now: number;
};

/** The state of one site of a container, before its peers are known. */
export type SiteReading = Omit<UndatedReading, 'peers' | 'domains'> & { readonly domains: readonly Domain[] };

export type Translation = {
  /** Sorted by domain, each with source and origin. */
  readonly routes: readonly RouteSpec[];
  readonly problems: readonly UndatedProblem[];
  readonly readings: readonly UndatedReading[];
  /** What to remember for the next snapshot. */
  readonly lastGood: LastGood;
};
