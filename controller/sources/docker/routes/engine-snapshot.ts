import type { RouteSpec } from '../../../../shared/route.ts';
import type { Domain } from '../../../../shared/values/host.ts';
import type { Problem } from '../../../../shared/wire/apply.ts';
import type { Condition, ContainerReading } from '../../source.ts';
import type { Container } from '../engine/container.ts';
import type { AddressKind } from '../flags.ts';
import type { LastGood } from '../labels/last-good.ts';
import type { NetworkReach } from '../network/network-reach.ts';

/** The name of this source, as routes carry it. */
export const DOCKER_SOURCE = 'docker';

/** All that routes of containers are made of: the same snapshot gives the same routes. */
export type EngineSnapshot = {
  /** Labelled ones, running or not, the oldest first. */
  readonly containers: readonly Container[];
  /** Ids of those that were told to end and have not ended yet. */
  readonly draining: ReadonlySet<string>;
  readonly reach: NetworkReach;
  readonly addresses: AddressKind;
  /** The network to prefer. */
  readonly network: string | null;
  /** What was remembered of sites the last time. */
  readonly lastGood: LastGood;
  /** Milliseconds since 1970. */
  readonly now: number;
};

/** A fact without the moment since when it holds; who remembers the last one stamps it. */
export type UndatedCondition = Omit<Condition, 'since'>;

export type Reading = Omit<ContainerReading, 'accepted' | 'resolved'> & {
  readonly accepted: UndatedCondition;
  readonly resolved: UndatedCondition;
};

/** What one site of a container says of itself; the others of its pools are known when all were asked. */
export type SiteReading = Omit<Reading, 'others' | 'domains'> & { readonly domains: readonly Domain[] };

/** What is wrong with a container, without the moment since when. */
export type UndatedProblem = Omit<Problem, 'since'>;

export type Translation = {
  /** Sorted by domain, each with source and origin. */
  readonly routes: readonly RouteSpec[];
  readonly problems: readonly UndatedProblem[];
  readonly readings: readonly Reading[];
  /** What is to be remembered until the next time. */
  readonly lastGood: LastGood;
};
