import type { RouteSpec } from '../route.ts';
import type { Globals, Origin } from '../settings.ts';
import type { Problem, Revision } from './apply.ts';

/** What the data plane answers to the questions of people and of the command line. */

/** One route in `GET /routes?view=full`. */
export type FullRoute = RouteSpec & {
  /** The controller that applied it; null when it was posted by hand. */
  controller: string | null;
  /** The controller's route that this one, posted by hand, hides. */
  overrides: RouteSpec | null;
  /** RFC 3339: when it was last added or changed. */
  since: string;
};

export type ControllerStatus = {
  id: string;
  connected: boolean;
  reloadable: boolean;
  epoch: number;
  revision: Revision;
  sources: string[];
  /** Those of its sources that have been read without a failure at least once. Older data planes don't say. */
  listed?: string[];
  /** RFC 3339. */
  last_applied: string;
};

export type DataplaneStatus = {
  instance: string;
  /** The one that runs. */
  version: string;
  /** The one that the next start would run. */
  installed_version?: string;
  ready: boolean;
  reason: string | null;
  uptime_secs: number;
  generation: number;
  routes: number;
  overridden: number;
  workers: { configured: number; serving: number; restarts: number };
  controllers: ControllerStatus[];
  problems: Problem[];
  last_reload: { at: string; ok: boolean; errors: string[] } | null;
  warnings: string[];
  upstreams: UpstreamSummary;
  /** What could be better around it, though nothing is wrong: one line each. Older data planes give none. */
  advice?: string[];
};

/** All targets in numbers, and those that are out of rotation: at most fifty. */
export type UpstreamSummary = { count: number; healthy: number; out: UpstreamStatus[] };

export type UpstreamStatus = {
  address: string;
  tls: boolean;
  /** What it is at its source, where it has a name there. */
  id?: string;
  /** How it is spoken to, where that is anything in particular: `h2c`, `h2 insecure`. */
  transport?: string;
  healthy: boolean;
  /** Why it is out of rotation, in words; null while it is in. */
  reason: string | null;
  in_flight: number;
  /** The last try that failed by its own fault, and how many did since the start; absent if none did. */
  last_failure?: LastFailure;
  /** Domains that use it, at most ten, and how many there are. */
  domains: string[];
  domain_count: number;
};

/** `code` is stable, `at` is RFC 3339. */
export type LastFailure = { code: string; reason: string; at: string; count: number };

export type SettingStatus = { name: string; value: string | number | boolean | null | readonly string[]; origin: Origin };

/** A dry run of one URL: what would happen, and why. */
export type Explanation = {
  url: string;
  /** What the visitor would get, in plain words. */
  verdict: string;
  routed: boolean;
  route: FullRoute | null;
  /** Which pattern matched, for wildcards and the catch-all. */
  matched: string | null;
  /** The path block that answers, null when the site itself does. */
  block: { path: string | null; index: number } | null;
  /** Policies in the order in which they are asked. */
  policies: { name: string; verdict: string }[];
  targets: UpstreamStatus[];
  certificate: string;
  /** What controllers reported about this host, and why the source of its route can't be read (its first mistakes), if it can't. */
  problems: Problem[];
  /** What was probably meant by a host that is not routed, in words; null where nothing is near, or it is routed. */
  near: string | null;
};

export type ReloadResult = { message: string; applied?: { added: number; changed: number; removed: number; unchanged: number } };
export type { Globals };
