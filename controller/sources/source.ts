import type { RouteSpec } from '../../shared/route.ts';
import type { Globals } from '../../shared/settings.ts';
import type { Applied, Problem, TargetReport } from '../../shared/wire/apply.ts';

/**
 * The complete desired state of a source: never an event, never a difference. The latest one counts. `failed` does not mean empty: the
 * reconciler keeps the source's last listing.
 */
export type Snapshot =
  | {
      readonly kind: 'listed';
      readonly source: string;
      /** Each with `source` and `origin` set. Oldest first if the source knows ages. */
      readonly routes: readonly RouteSpec[];
      /** Certificates of routes whose `https` is `provided`. */
      readonly certificates?: readonly SourceCertificate[];
      /** Globals of the data plane; absent if the source has none. */
      readonly settings?: Globals;
      /** What was listed but could not be used, or probably not as intended. */
      readonly problems: readonly UndatedProblem[];
      /** A target is being lost: any delay costs requests, so the change is applied at once. */
      readonly urgent?: boolean;
      /** It is the last listing with less use of it, while there is no newer one. It confirms nothing. */
      readonly repeated?: boolean;
    }
  | {
      readonly kind: 'failed';
      readonly source: string;
      /** One line each: what is wrong, where, what to do. Never empty. */
      readonly errors: readonly string[];
    };

/** A certificate supplied by a source for these domains: the chain starting with the leaf, and the key, both PEM. Already validated. */
export type SourceCertificate = { readonly domains: readonly string[]; readonly certificate: string; readonly private_key: string };

/** A problem without its start time, which the reconciler adds. */
export type UndatedProblem = Omit<Problem, 'since'>;

/** An origin of routes: a file, a container engine, a cluster. */
export interface Source {
  /** Its name in its routes. */
  readonly name: string;
  /** Whether it lists nothing until it has heard from a data plane; then the stream is opened without a listing. */
  readonly awaitsDataplane?: boolean;
  /**
   * Emits a snapshot soon after the start and after each change. Resolves when `signal` is aborted, and emits nothing after that. A
   * failure in between is a `failed` snapshot, not a rejection.
   */
  run(signal: AbortSignal, emit: (snapshot: Snapshot) => void): Promise<void>;
  /** Lists everything again soon; the snapshot is emitted even if unchanged. */
  relist(): void;
  /**
   * Only for a source whose errors are those of the person who requests the reload: lists at once. The snapshot is emitted, while `run` is
   * running, before this resolves with it.
   */
  reload?(): Promise<Snapshot>;
  /** The state of each object that it has seen; the same id and section remain the same object. */
  readings(): readonly Reading[];
  /** Called for each of these messages of each data plane, in the order in which it sent them. */
  notify?(event: DataplaneEvent): void;
  /** Called when the data planes serve a different snapshot of this source, or serve the same one differently. */
  served?(served: ServedSnapshot): void;
}

/** A snapshot that is served by every data plane whose stream is open. Newer ones may be in flight. */
export type ServedSnapshot = {
  /** As the source emitted it. */
  readonly snapshot: Extract<Snapshot, { kind: 'listed' }>;
  /** Its domains that are not served as requested, and why: a data plane rejects the route, or another source has precedence. */
  readonly refused: ReadonlyMap<string, string>;
};

/**
 * The data plane's messages that sources may need: it acknowledged a revision, the first of which has the addresses of its interfaces, or it
 * found a target up or down.
 */
export type DataplaneEvent = { readonly dataplane: string } & (
  | { readonly kind: 'applied'; readonly applied: Applied }
  | ({ readonly kind: 'upstream' } & TargetReport)
);

/** Whether a condition is met, why, and since when (RFC 3339). */
export type ObjectCondition = { readonly holds: boolean; readonly reason: string; readonly since: string };

/** The state of an object that requests a site, or of one of its sites, whether or not it led to a route. */
export type Reading = {
  readonly source: string;
  /** The field's term: `container`, `file`. */
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  /** As in its routes: `container shop-web-1 (3f2a9c0d1e2f)`. */
  readonly origin: string;
  /** The name of the site if an object requests several: `sluice.<name>.domain`. null for the site without a name. */
  readonly section: string | null;
  readonly domains: readonly string[];
  /** Other objects with these domains, the oldest first: their number, and up to ten names. */
  readonly peers: { readonly count: number; readonly names: readonly string[] };
  /** It is valid. An invalid one with an address is routed by its last good version. */
  readonly accepted: ObjectCondition;
  /** It has an address that can get requests. */
  readonly resolved: ObjectCondition;
  /** That address; null if there is none, or each of its routes has its own. */
  readonly address: string | null;
  /** What would improve the state; null if nothing is needed. */
  readonly change: string | null;
};
