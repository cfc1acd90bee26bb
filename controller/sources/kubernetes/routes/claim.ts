import type { RouteDraft } from '../../../../shared/route.ts';
import type { Domain } from '../../../../shared/values/host.ts';
import type { UndatedProblem } from '../../source.ts';
import type { Backend } from '../backends/backends.ts';
import type { Owner } from '../objects/owner.ts';

/** An object's request for paths of a host, with their backend. Objects share hosts; each path has one owner. */
export type PathClaim = {
  readonly owner: Owner;
  /** `*` for every host without a route of its own. */
  readonly host: Domain;
  readonly path: PathMatch;
  readonly backend: Backend;
  /** From annotations. */
  readonly members: RouteDraft;
  /** `off` by default. */
  readonly https: HostTls;
  /** Whether its object is not accepted. */
  readonly isRefused?: boolean;
};

/** `default` is for requests that no other path of the host matches, regardless of its owner. */
export type PathMatch = { readonly kind: 'exact' | 'prefix'; readonly path: string } | { readonly kind: 'default' };

/** Whether and how a host gets HTTPS: by a Secret, as for containers, or not at all. */
export type HostTls =
  | { readonly kind: 'off' }
  | { readonly kind: 'auto' }
  | { readonly kind: 'secret'; readonly namespace: string; readonly secret: string };

/** The requests of one object, and what is wrong with it. */
export type Request = {
  readonly owner: Owner;
  readonly claims: readonly PathClaim[];
  readonly problems: readonly UndatedProblem[];
  /** Why it is not accepted as written; empty if it is. */
  readonly reasons: readonly string[];
  /** Its hosts, whether or not it is accepted. */
  readonly hosts: readonly string[];
  /** Whether it is not accepted, and never was: its paths answer 503, unless others have them. */
  readonly isRefused: boolean;
};
