import type { Site } from '../../shared/certificates/issuer.ts';
import type { RouteSpec } from '../../shared/route.ts';
import type { Globals } from '../../shared/settings.ts';
import type {
  Applied,
  Apply,
  CertificateOutcome,
  FrameCertificates,
  Problem,
  Refused,
  ReloadOutcome,
  Remove,
  Revision,
} from '../../shared/wire/apply.ts';
import type { UnconfirmedSource } from './unconfirmed/unconfirmed.ts';

/** The owner of the routes: one visible route a domain, saved and served before a change is acknowledged. */
export interface Table {
  /** Names this process; another instance needs the whole truth again. */
  readonly instance: string;
  /** Visible routes, sorted by domain. */
  list(): readonly OwnedRoute[];
  find(domain: string): OwnedRoute | undefined;
  /** How every site comes to HTTPS; fast, even for many. */
  sites(): Iterable<Site>;
  site(domain: string): Site | null;
  counts(): { readonly routes: number; readonly overridden: number };
  controllers(): readonly KnownController[];
  /** A controller with an open stream is alive: what it said last still holds. */
  noteSignOfLife(controller: string): void;
  /** How many visible routes have targets from before the start that wait until their controller names them again. */
  readonly unconfirmedRoutes: number;
  unconfirmedSources(): readonly UnconfirmedSource[];
  /** What controllers could not use, from all sources. */
  problems(): readonly Problem[];
  /** The config file's globals as last applied; empty when no file was. */
  globals(): Globals;
  /**
   * Adds or replaces a route by hand. Resolves when it is on disk and every worker serves it.
   * @throws UnsavedError (nothing changed) or UnacknowledgedError (saved, not yet served everywhere).
   */
  post(route: RouteSpec): Promise<OwnedRoute>;
  /** Removes the visible route. @returns false when there is none. @throws as `post`. */
  remove(domain: string): Promise<boolean>;
  /** One whole frame: takes effect in one swap, or not at all. @throws as `post`. */
  apply(frame: Frame): Promise<{ readonly applied: Applied } | { readonly refused: Refused }>;
  /** Calls back after each change that is served. @returns a function that stops it. */
  onChange(listener: (change: TableChange) => void): () => void;
  close(): void;
}

/** The disk refused the change (full, read-only, gone): nothing was applied. */
export class UnsavedError extends Error {}

export type OwnedRoute = {
  readonly route: RouteSpec;
  /** The controller that applied it; null when it was posted by hand. */
  readonly controller: string | null;
  /** The controller's route beneath one that was posted by hand. */
  readonly overrides: RouteSpec | null;
  /** Milliseconds since 1970: when it was last added or changed. */
  readonly since: number;
  /** Its targets that have an id are not used yet: their addresses are from before the start. */
  readonly unconfirmed: boolean;
};

export type KnownController = {
  readonly id: string;
  readonly epoch: number;
  readonly revision: Revision;
  readonly sources: readonly string[];
  /** By source: those that have been listed without a failure at least once. */
  readonly confirmed: Readonly<Record<string, unknown>>;
  /** Milliseconds since 1970. */
  readonly lastApplied: number;
};

/** A frame as the apply stream read it, complete to its `end` line. Each route has been judged on its own. */
export type Frame = {
  readonly header: Apply;
  readonly routes: readonly RouteSpec[];
  /** Lines that are no valid routes; the last good version of each stays. `domain` is the one in the line, in lower case. */
  readonly rejected: readonly { readonly domain: string; readonly source: string | null; readonly reason: string }[];
  readonly removes: readonly Remove[];
  /** Present when the frame had a `settings` line. */
  readonly settings?: Globals;
  readonly problems: readonly Problem[];
  readonly reload?: ReloadOutcome;
  /** Absent where it has no line about certificates, which in a whole truth means that there are none. */
  readonly certificates?: FrameCertificates;
};

/** Keeps the certificates that come with frames. */
export interface CertificateKeeper {
  /** Keeps what a frame brings. Resolves when it is on disk and shown, so that routes may depend on it. Failures are outcomes. */
  bring(frame: Frame): Promise<CertificateOutcome[]>;
  /** Forgets what a frame removes, once the routes that depended on it are gone. */
  drop(frame: Frame): Promise<CertificateOutcome[]>;
}

export type TableChange = {
  readonly generation: number;
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** Controllers' routes that were changed or removed by hand; their controllers are told. */
  readonly byHand: readonly {
    readonly domain: string;
    readonly controller: string;
    readonly change: 'removed' | 'replaced';
    readonly route: RouteSpec | null;
  }[];
  /** Whether the globals of the config file changed with it. */
  readonly settings: boolean;
};
