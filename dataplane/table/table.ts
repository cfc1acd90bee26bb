import type { RouteSpec } from '../../shared/route.ts';
import type { Globals } from '../../shared/settings.ts';
import type {
  Apply,
  CertificateOutcome,
  FrameCertificates,
  Problem,
  ReloadOutcome,
  Remove,
  Revision,
  RouteCondition,
} from '../../shared/wire/apply.ts';

/** The disk rejected the change (full, read-only, missing), and nothing was applied. */
export class UnsavedError extends Error {}

export type OwnedRoute = {
  readonly route: RouteSpec;
  /** The controller that applied it; null if it was posted manually. */
  readonly controller: string | null;
  /** The controller's route that a manually posted one overrides. */
  readonly overrides: RouteSpec | null;
  /** When it was last added or changed, in milliseconds since 1970. */
  readonly since: number;
  /** Its targets with an id are not used yet, because their addresses were restored from disk. */
  readonly unconfirmed: boolean;
  /** By `lostName`: its targets that did not accept connections while their controller was away, and wait for it. */
  readonly lost: ReadonlySet<string>;
  /**
   * Whether it needs something that the data plane may not have: a cache, ports of its own, directories. Known without reading `route`,
   * which costs 10 µs.
   */
  readonly needsSetup: boolean;
};

export type KnownController = {
  readonly id: string;
  readonly epoch: number;
  readonly revision: Revision;
  readonly sources: readonly string[];
  /** By source, for sources that have been listed without a failure at least once. */
  readonly confirmed: Readonly<Record<string, unknown>>;
  /** Milliseconds since 1970. */
  readonly lastApplied: number;
  /** The sources that it has listed since this process was started, in its last run. */
  readonly listed: ReadonlySet<string>;
};

/** A frame as read from the apply stream, complete to its `end` line. Each route has been checked separately. */
export type Frame = {
  readonly header: Apply;
  readonly routes: readonly RouteSpec[];
  /** Lines that are not valid routes; the last good version of each stays. `domain` is the one in the line, in lower case. */
  readonly rejected: readonly { readonly domain: string; readonly source: string | null; readonly reason: string }[];
  readonly removes: readonly Remove[];
  /** Present if the frame had a `settings` line. */
  readonly settings?: Globals;
  readonly problems: readonly Problem[];
  readonly conditions?: readonly RouteCondition[];
  readonly reload?: ReloadOutcome;
  /** Absent if no line is about certificates; in a full frame this means that there are none. */
  readonly certificates?: FrameCertificates;
};

/** Keeps the certificates that frames carry. */
export interface CertificateKeeper {
  /**
   * Stores the certificates of a frame. Resolves when they are on disk and presented, so that routes can depend on them. Failures are
   * outcomes.
   */
  store(frame: Frame): Promise<CertificateOutcome[]>;
  /** Removes the certificates that a frame removes, once the routes that depended on them are gone. */
  remove(frame: Frame): Promise<CertificateOutcome[]>;
}

export type TableChange = {
  readonly generation: number;
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** Whether any of that is served differently; otherwise only the records of controllers have changed. */
  readonly published: boolean;
  /** Controllers' routes that were replaced or removed manually; their controllers are notified. */
  readonly overwritten: readonly {
    readonly domain: string;
    readonly controller: string;
    readonly change: 'removed' | 'replaced';
    readonly route: RouteSpec | null;
  }[];
  /** Whether the globals of the config file changed too. */
  readonly settings: boolean;
};
