import type { RouteSpec } from '../../shared/route.ts';
import type { Globals } from '../../shared/settings.ts';
import type { Applied, Problem, TargetReport } from '../../shared/wire/apply.ts';

/**
 * What a source wants right now, as a whole: never an event, never a difference. The newest one counts.
 * `failed` is not empty: the reconciler keeps the source's last listing.
 */
export type Snapshot =
  | {
      readonly kind: 'listed';
      readonly source: string;
      /** Each with `source` and `origin` set. Oldest first where the source knows ages. */
      readonly routes: readonly RouteSpec[];
      /** Certificates of routes whose `https` is `provided`. */
      readonly certificates?: readonly SourceCertificate[];
      /** Globals of the data plane; absent where the source has none to give. */
      readonly settings?: Globals;
      /** What was listed but could not be used, or not as it was probably meant. */
      readonly problems: readonly UndatedProblem[];
      /** A target is being lost: every moment costs requests, so the change waits for no other. */
      readonly urgent?: boolean;
    }
  | {
      readonly kind: 'failed';
      readonly source: string;
      /** One line each: what is wrong, where, what to do. Never empty. */
      readonly errors: readonly string[];
    };

/** A certificate that a source brings for these domains: the chain from the leaf on, and the key, both PEM. Judged already. */
export type SourceCertificate = { readonly domains: readonly string[]; readonly certificate: string; readonly private_key: string };

/** A problem without the time since when it is known: the reconciler remembers that. */
export type UndatedProblem = Omit<Problem, 'since'>;

/** Somewhere that routes come from: a file, a container engine, a cluster. */
export interface Source {
  /** As its routes carry it. */
  readonly name: string;
  /** It lists nothing before it has heard from a data plane, whose stream is opened without a listing for its sake. */
  readonly awaitsDataplane?: boolean;
  /**
   * Emits a snapshot soon after the start and after each change. Resolves when `signal` is aborted, and
   * emits nothing after that; what goes wrong in between is a `failed` snapshot, not a rejection.
   */
  run(signal: AbortSignal, emit: (snapshot: Snapshot) => void): Promise<void>;
  /** Lists everything anew, soon; the snapshot is emitted, changed or not. */
  relist(): void;
  /**
   * Only of a source whose mistakes the person who reloads has made: lists at once. The snapshot is emitted,
   * while `run` runs, before this resolves with it.
   */
  reload?(): Promise<Snapshot>;
  /** What became of each object that it has seen; the same id and section stay the same object. */
  readings(): readonly Reading[];
  hear?(event: DataplaneEvent): void;
}

/** What a data plane tells that sources may need. */
export type DataplaneEvent = { readonly dataplane: string } & (
  | {
      /** It acknowledged a revision; its first answer names the addresses of its interfaces. */ readonly kind: 'applied';
      readonly applied: Applied;
    }
  | ({ /** It found a target up or down. */ readonly kind: 'upstream' } & TargetReport)
);

/** Whether something holds of an object, why (in words), since when (RFC 3339). */
export type Condition = { readonly holds: boolean; readonly reason: string; readonly since: string };

/** What became of an object that asks for a site, or of one site of it, whether or not a route came of it. */
export type Reading = {
  readonly source: string;
  /** In the field's word: `container`, `file`. */
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  /** As routes of it carry it: `container shop-web-1 (3f2a9c0d1e2f)`. */
  readonly origin: string;
  /** Names the site where an object asks for several: `sluice.<name>.domain`. null for the site without a name. */
  readonly section: string | null;
  readonly domains: readonly string[];
  /** Who else has these domains, the oldest first: how many, and the names of ten at most. */
  readonly peers: { readonly count: number; readonly names: readonly string[] };
  /** It is understood. One that has an address although it is not is routed as it was before. */
  readonly accepted: Condition;
  /** There is an address that visitors may be sent to. */
  readonly resolved: Condition;
  /** That address; null where there is none, or each of its routes has its own. */
  readonly address: string | null;
  /** What would make it better; null while nothing has to. */
  readonly change: string | null;
};
