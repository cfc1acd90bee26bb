import type { RouteSpec } from '../../shared/route.ts';
import type { Globals } from '../../shared/settings.ts';
import type { Problem } from '../../shared/wire/apply.ts';

/**
 * What a source wants right now, as a whole: never an event, never a difference. The newest one counts.
 * `failed` is not empty: whoever keeps the table goes on with the source's last listing.
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
      readonly problems: readonly Problem[];
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

/** Somewhere that routes come from. */
export interface Source {
  readonly name: string;
  /**
   * Emits a snapshot soon after the start and after each change. Resolves when `signal` is aborted, and
   * emits nothing after that; what goes wrong in between is a `failed` snapshot, not a rejection.
   */
  run(signal: AbortSignal, emit: (snapshot: Snapshot) => void): Promise<void>;
}

/** One fact about an object: whether it holds, why (in words), since when (RFC 3339). */
export type Condition = { readonly holds: boolean; readonly reason: string; readonly since: string };

/** What became of one site of a container that asks for one, whether or not a route came of it. */
export type ContainerReading = {
  readonly id: string;
  readonly container: string;
  /** As routes of it carry it: `container shop-web-1 (3f2a9c0d1e2f)`. */
  readonly origin: string;
  /** Of `sluice.<name>.domain`; null for the site without a name. */
  readonly site: string | null;
  /** Its pools: all containers of a domain are one. */
  readonly domains: readonly string[];
  /** Who else is in these pools, the oldest first: how many, and the names of ten at most. */
  readonly others: { readonly count: number; readonly names: readonly string[] };
  /** Its labels are understood. One that has an address although they are not is routed as it was before. */
  readonly accepted: Condition;
  /** There is an address that visitors may be sent to. */
  readonly resolved: Condition;
  /** That address; null while there is none. */
  readonly address: string | null;
  /** What would make it better; null while nothing has to. */
  readonly change: string | null;
};
