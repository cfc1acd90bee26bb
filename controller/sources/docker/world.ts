import type { RouteSpec } from '../../../shared/route.ts';
import type { Problem } from '../../../shared/wire/apply.ts';
import type { Container } from './container.ts';
import type { AddressKind } from './flags.ts';
import type { Reach } from './shared-networks.ts';

/** All that routes of containers are made of: the same world gives the same routes. */
export type World = {
  /** Labelled ones, running or not, the oldest first. */
  readonly containers: readonly Container[];
  /** Ids of those that were told to end and have not ended yet. */
  readonly draining: ReadonlySet<string>;
  readonly reach: Reach;
  readonly addresses: AddressKind;
  /** The network to prefer. */
  readonly network: string | null;
};

/** A fact about a container, and why it holds or does not, in words. */
export type Judgement = { readonly holds: boolean; readonly reason: string };

/** What became of one site of a container: its labels understood, and an address found to send visitors to. */
export type Reading = {
  readonly id: string;
  readonly container: string;
  /** As routes of it carry it: `container shop-web-1 (3f2a9c…)`. */
  readonly origin: string;
  /** `sluice.<name>.domain`; null for the site without a name. */
  readonly site: string | null;
  /** Its pools: all containers of a domain are one. */
  readonly domains: readonly string[];
  readonly accepted: Judgement;
  readonly resolved: Judgement;
  /** Where visitors are sent; null while there is no such address. */
  readonly address: string | null;
  /** What would make it better, or why nothing has to. */
  readonly change: string | null;
};

export type Discovered = {
  /** Sorted by domain, each with source and origin. */
  readonly routes: readonly RouteSpec[];
  readonly problems: readonly Omit<Problem, 'since'>[];
  readonly readings: readonly Reading[];
};
