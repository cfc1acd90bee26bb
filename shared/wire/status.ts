import type { RouteSpec } from '../route.ts';
import type { Globals, SettingOrigin } from '../settings.ts';
import type { Fact, Problem, Revision } from './apply.ts';

/** The data plane's responses to queries by users and the command line. */

/** One route in `GET /routes?view=full`. */
export type FullRoute = RouteSpec & {
  /** The controller that applied it; null if it was posted. */
  controller: string | null;
  /** The controller's route that this posted one overrides. */
  overrides: RouteSpec | null;
  /** RFC 3339: when it was last added or changed. */
  since: string;
  /** Absent in older data planes. */
  conditions?: RouteConditions;
};

/** `accepted` and `resolved` are reported by the route's controller; absent if it was posted, or the controller does not report them. */
export type RouteConditions = {
  /** Its source could be read as written, and the domain belongs to it. */
  accepted?: Fact;
  /** It has a target that is not known to be down, or needs none. */
  resolved?: Fact;
  /** This data plane serves it. */
  programmed: Fact;
};

export type ControllerStatus = {
  id: string;
  connected: boolean;
  reloadable: boolean;
  epoch: number;
  revision: Revision;
  sources: string[];
  /** Its sources that have been read successfully at least once. Absent in older data planes. */
  listed?: string[];
  /** RFC 3339. */
  last_applied: string;
  /** RFC 3339: when it disconnected; absent if it is connected, or has not been since the start. */
  away_since?: string;
};

export type DataplaneStatus = {
  instance: string;
  /** The running version. */
  version: string;
  /** The version that the next start would run. */
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
  /** Advice about the environment, one line each; nothing is wrong. Absent in older data planes. */
  advice?: string[];
};

/** The number of targets, and up to fifty that are out of rotation. */
export type UpstreamSummary = { count: number; healthy: number; out: UpstreamStatus[] };

export type UpstreamStatus = {
  address: string;
  tls: boolean;
  /** Its id at its source, if it has one. */
  id?: string;
  /** Its transport, unless it is the default: `h2c`, `h2 insecure`. */
  transport?: string;
  healthy: boolean;
  /** Why it is out of rotation; null while it is in rotation. */
  reason: string | null;
  in_flight: number;
  /** The last failed attempt that was the target's fault, and how many there were since the start; absent if there were none. */
  last_failure?: LastFailure;
  /** Up to ten domains that use it, and how many there are. */
  domains: string[];
  domain_count: number;
};

/** `code` is stable, `at` is RFC 3339. */
export type LastFailure = { code: string; reason: string; at: string; count: number };

export type SettingStatus = {
  name: string;
  value: string | number | boolean | null | readonly string[] | readonly number[];
  origin: SettingOrigin;
};

/** A dry run of one URL: what would happen, and why. */
export type Explanation = {
  url: string;
  /** The response that the client would get, in plain text. */
  verdict: string;
  routed: boolean;
  route: FullRoute | null;
  /** The pattern that matched, for wildcards and the catch-all. */
  matched: string | null;
  /** The port of the data plane that the request would arrive at. Absent in older data planes, and if no worker serves. */
  port?: number;
  /** The path block that handles the request; null for the site itself. */
  block: { path: string | null; index: number } | null;
  /** Policies in the order of evaluation. */
  policies: { name: string; verdict: string }[];
  targets: UpstreamStatus[];
  certificate: string;
  /** What controllers reported about this host, and the first errors of its route's source if that can't be read. */
  problems: Problem[];
  /** Suggestions for a host that is not routed; null if there are none, or it is routed. */
  near: string | null;
};

export type ReloadResult = { message: string; applied?: { added: number; changed: number; removed: number; unchanged: number } };
export type { Globals };
