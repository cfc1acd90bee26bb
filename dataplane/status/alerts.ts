import { NAME } from '../../shared/name.ts';
import { inShell } from '../../shared/values/in-shell.ts';
import type { Problem } from '../../shared/wire/apply.ts';
import type { Alert, Severity } from '../../shared/wire/dashboard.ts';
import { SOURCE_FAILED } from '../../shared/wire/errors.ts';
import type { ControllerStatus, DataplaneStatus, LastFailure } from '../../shared/wire/status.ts';
import type { RefusedRoute } from '../table/controllers/reported-conditions.ts';
import { isMirror, type PoolPlace } from './named-targets.ts';
import { problemAdvice } from './problem-advice.ts';
import { DELAYED, DRAINING, NO_PORT } from './readiness.ts';

/** Everything that the data plane knows about possible problems. */
export type Situation = {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly status: Pick<
    DataplaneStatus,
    'uptime_secs' | 'ready' | 'reason' | 'version' | 'installed_version' | 'workers' | 'controllers' | 'problems' | 'last_reload'
  >;
  readonly warnings: Warnings;
  readonly advice: readonly string[];
  readonly pools: readonly PoolTrouble[];
  readonly failing: readonly FailingSite[];
  readonly certificates: Iterable<CertificateTrouble>;
  readonly overridden: Iterable<Override>;
  readonly refused: Iterable<RefusedRoute>;
  /** Why the history of visits can't be read or written; null if it can. */
  readonly history: string | null;
};

/** Warnings of parts of the data plane, one sentence each, by the code of their alert. */
export type Warnings = Readonly<Record<keyof typeof WARNED, readonly string[]>>;

/** A pool with targets that should get requests and do not. */
export type PoolTrouble = PoolPlace & {
  readonly domain: string;
  readonly targets: number;
  readonly out: readonly { readonly address: string; readonly reason: string; readonly failure?: LastFailure }[];
};

/** A host that answered many of its requests of the last five minutes with 5xx (`failed`). `pattern`: the domain of its route. */
export type FailingSite = { readonly domain: string; readonly pattern: string; readonly requests: number; readonly failed: number };

/** A problem of certificates. `message` is a whole sentence. */
export type CertificateTrouble = {
  readonly kind: keyof typeof CERTIFICATES;
  readonly domain: string | null;
  readonly message: string;
};

/** A controller's route that a posted one overrides. `since` in ms since 1970. */
export type Override = { readonly domain: string; readonly controller: string; readonly since: number };

/** Every alert, in no particular order. */
export function* alertsOf(situation: Situation): Generator<Alert> {
  const { status } = situation;
  yield* readinessAlerts(status);
  yield* workerAlerts(status.workers);
  yield* awayAlerts(situation);
  yield* problemAlerts(status);
  yield* reloadAlerts(status);
  for (const pool of situation.pools) yield poolAlert(pool);
  yield* failingAlerts(situation);
  for (const refused of situation.refused) yield refusedAlert(refused);
  for (const trouble of situation.certificates) yield certificateAlert(trouble);
  for (const [code, messages] of Object.entries(situation.warnings) as [keyof Warnings, readonly string[]][])
    for (const message of messages) if (status.ready || message !== status.reason) yield warningAlert(code, message);
  if (situation.history !== null) yield historyAlert(situation.history);
  for (const override of situation.overridden) yield overrideAlert(override);
  yield* upgradeAlerts(status);
  for (const message of situation.advice) yield alert('advice', 'environment', 'this machine', message, SYSCTL);
}

const SYSCTL = 'Run the command as root, and put the setting into /etc/sysctl.d/ so that it survives a restart.';

const alert = (
  severity: Severity,
  code: string,
  subject: string,
  message: string,
  action: string,
  { domain = null, since = null }: { domain?: string | null; since?: string | null } = {},
): Alert => ({ severity, code, domain, subject: shortened(subject), message: shortened(message), action, since });

/** Texts come from files and labels, and an overview has hundreds of them (characters). */
const MAX_TEXT = 600;
const shortened = (text: string): string => (text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`);

function* readinessAlerts(status: Situation['status']): Generator<Alert> {
  if (status.ready) return;
  yield alert('error', 'not_ready', 'data plane', `not ready: ${status.reason ?? 'no reason given'}`, untilReady(status));
}

function untilReady({ reason, controllers, problems }: Situation['status']): string {
  if (reason === DELAYED || reason === DRAINING)
    return 'It was told to stop. If that is not what you want, start it again when it has ended.';
  if (reason === NO_PORT) return 'Free one of the ports listed here, or correct http_port, https_port and bind in the config file.';
  const failed = problems.find(({ code }) => code === SOURCE_FAILED);
  if (failed !== undefined)
    return failed.source === 'file' ? 'Correct the errors of the config file listed here.' : 'Correct the cause that is listed here.';
  return controllers.some(({ connected }) => connected)
    ? 'Wait until the controller has listed its sources; if that takes longer than a minute, read its log.'
    : `Start a controller that uses this data plane (${NAME} run starts both), or post a route.`;
}

function* workerAlerts({ configured, serving }: DataplaneStatus['workers']): Generator<Alert> {
  if (serving >= configured) return;
  const severity = serving === 0 ? 'error' : 'warning';
  const message = `${configured - serving} of ${configured} workers are not serving`;
  const action = 'A worker that dies is restarted automatically; if this stays, read the log of the data plane for "worker died".';
  yield alert(severity, serving === 0 ? 'no_worker' : 'workers_missing', 'workers', message, action);
}

/** A controller that is restarted, or whose data plane has just been started, connects within this time (ms). */
const RECONNECT_MS = 5_000;

function* awayAlerts({ now, status: { controllers, uptime_secs } }: Situation): Generator<Alert> {
  for (const controller of controllers) {
    const { connected, away_since: since } = controller;
    const awayMs = since == null ? uptime_secs * 1_000 : now - Date.parse(since);
    if (!connected && awayMs >= RECONNECT_MS) yield awayAlert(controller);
  }
}

function awayAlert({ id, last_applied, away_since }: ControllerStatus): Alert {
  const message = `controller ${id} is disconnected; its routes stay as of ${last_applied}`;
  const action = `Start it again or read its log; if it is gone permanently, DELETE /controllers/${encodeURIComponent(id)} removes it and its routes.`;
  return alert('warning', 'controller_away', `controller ${id}`, message, action, { since: away_since ?? null });
}

function* problemAlerts({ problems, controllers }: Situation['status']): Generator<Alert> {
  const listed = new Set(controllers.flatMap(({ listed, sources }) => listed ?? sources));
  for (const problem of problems) yield problemAlert(problem, listed.has(problem.source));
}

function problemAlert(problem: Problem, listed: boolean): Alert {
  const { code, origin, domain, message, since } = problem;
  const { severity, action } = problemAdvice(problem, listed);
  return alert(severity, code, origin, message.startsWith(origin) ? message : `${origin}: ${message}`, action, { domain, since });
}

/** The errors of a reload that no controller reports as problems, such as those of a controller that has gone since. */
function* reloadAlerts({ last_reload: last, problems }: Situation['status']): Generator<Alert> {
  if (last === null || last.ok || problems.some(({ code }) => code === SOURCE_FAILED)) return;
  const [first = 'no reason given', ...more] = last.errors;
  const message = `the last reload failed: ${first}${more.length > 0 ? `, and ${more.length} more errors` : ''}`;
  yield alert('error', 'reload_failed', 'config file', message, `Correct the config file and run ${NAME} reload.`, { since: last.at });
}

function poolAlert(trouble: PoolTrouble): Alert {
  const { domain, targets, out } = trouble;
  const pool = poolName(trouble);
  const shown = out.slice(0, MAX_TARGETS).map(({ address, reason, failure }) => `${address}: ${reason}${failureOf(reason, failure)}`);
  const more = out.length > shown.length ? [`and ${out.length - shown.length} more`] : [];
  const why = [...shown, ...more].join('; ');
  const about = { domain, since: null };
  const explained = explainedBy(trouble);
  if (targets === 0) {
    const action = `Start a container or a pod for it, or remove the site${explained}`;
    return alert('error', 'pool_down', pool, `${pool} has no target left`, action, about);
  }
  const none = `${pool} has no target in rotation: ${why}`;
  if (out.length === targets && isMirror(trouble))
    return alert('warning', 'pool_degraded', pool, none, 'Start the service or correct its address; visitors do not notice.', about);
  if (out.length === targets) return alert('error', 'pool_down', pool, none, `Start the service or correct its address${explained}`, about);
  return alert(
    'warning',
    'pool_degraded',
    pool,
    `${out.length} of ${targets} targets of ${pool} are out of rotation: ${why}`,
    'Look at the log of the service at this address; the other targets get its requests until it is back.',
    about,
  );
}

const poolName = ({ domain, path, part }: PoolTrouble): string => `${part === undefined ? '' : `${part} of `}${domain}${path ?? ''}`;

/** The end of a sentence. Which requests another part gets may depend on more than the URL. */
function explainedBy({ domain, path, part }: PoolTrouble): string {
  if (part !== undefined) return '.';
  // Every asterisk matches nothing, too.
  return `; ${NAME} explain ${inShell(domain + (path?.replaceAll('*', '') ?? ''))} shows what visitors get until then.`;
}

const MAX_TARGETS = 3;

/** The last failed request is more informative than the fact that a target is out, unless it is the reason for that. */
const failureOf = (reason: string, failure: LastFailure | undefined): string =>
  failure === undefined || reason.startsWith(failure.reason) ? '' : ` (last failure: ${failure.reason}, ${failure.at})`;

/** Clients can invent hosts below a wildcard: this many, the worst, have alerts of their own, so that they displace no others. */
const MAX_FAILING = 5;

const failedShare = ({ requests, failed }: FailingSite): number => failed / requests;

/** There is already an alert for a site without any target. One for a block says nothing about the rest of the site. */
function* failingAlerts({ failing, pools }: Situation): Generator<Alert> {
  const ofSites = pools.filter(({ path, part }) => path === null && part === undefined);
  const down = new Set(ofSites.flatMap(({ domain, targets, out }) => (out.length === targets ? [domain] : [])));
  const sites = failing.filter(({ domain, pattern }) => !down.has(domain) && !down.has(pattern));
  const worstFirst = sites.sort((a, b) => failedShare(b) - failedShare(a));
  for (const [pattern, ofRoute] of Map.groupBy(worstFirst, (site) => site.pattern)) {
    const below = ofRoute.filter(({ domain }) => domain !== pattern);
    const others = below.slice(MAX_FAILING);
    yield* ofRoute.filter(({ domain }) => domain === pattern).map(failingAlert);
    yield* below.slice(0, MAX_FAILING).map(failingAlert);
    if (others.length > 0) yield failingBelowAlert(pattern, others);
  }
}

/** About the hosts of a wildcard without alerts of their own: an error if one of them is. */
const failingBelowAlert = (pattern: string, sites: readonly FailingSite[]): Alert =>
  alert(
    sites.some(isMostlyFailing) ? 'error' : 'warning',
    'server_errors',
    pattern,
    `${sumOf(sites, 'failed')} of ${sumOf(sites, 'requests')} requests to ${sites.length} more hosts of ${pattern} were answered with 5xx in the last five minutes`,
    'Look at the log of the service; the dashboard and GET /analytics list the hosts with their responses.',
    { domain: pattern },
  );

const sumOf = (sites: readonly FailingSite[], what: 'requests' | 'failed'): number => sites.reduce((sum, site) => sum + site[what], 0);

const isMostlyFailing = (site: FailingSite): boolean => failedShare(site) > 0.5;

const failingAlert = (site: FailingSite): Alert =>
  alert(
    isMostlyFailing(site) ? 'error' : 'warning',
    'server_errors',
    site.domain,
    `${site.failed} of ${site.requests} requests to ${site.domain} were answered with 5xx in the last five minutes`,
    `Look at the log of the service; ${NAME} explain ${inShell(site.domain)} shows its targets and their last failures.`,
    { domain: site.domain },
  );

function refusedAlert({ controller, domain, result, reason, since }: RefusedRoute): Alert {
  const about = { domain, since: new Date(since).toISOString() };
  if (result === 'conflicted')
    return alert(
      'warning',
      'route_conflicted',
      domain,
      `the route of controller ${controller} for ${domain} is not served: ${reason}`,
      'Remove the domain from one of the two controllers.',
      about,
    );
  return alert(
    'error',
    'route_rejected',
    domain,
    `the newest version of ${domain} by controller ${controller} is rejected: ${reason}`,
    'Correct the site where it is configured; the last good version is served, if there was one.',
    about,
  );
}

/** Warnings of parts of the data plane. */
const WARNED = {
  targets_unconfirmed: ['warning', 'routes', 'Wait until the controller is connected; if it stays away, start it again.'],
  table_unsaved: [
    'error',
    'state',
    'Free space or correct the permissions; changes are tried again automatically. A table that was replaced is read at the next start.',
  ],
  cache_off: ['warning', 'cache', 'Set a size: cache 256mb among the globals of the config file, or --cache-size 256mb.'],
  cache_disk: [
    'warning',
    'cache',
    'Free space or correct the permissions; responses are stored in memory only until then, and it is tried again automatically.',
  ],
  ports_closed: [
    'warning',
    'ports',
    'Add the port to http_port or https_port among the globals of the config file, or to --http-port or --https-port.',
  ],
  file_root: [
    'error',
    'files',
    'Create the directory, mount it where the data plane runs, or correct root; it is looked at again automatically.',
  ],
  settings: [
    'warning',
    'settings',
    'Correct the setting in the config file, or end what keeps it from taking effect; GET /settings shows what is in effect.',
  ],
  exposed_directory: ['warning', 'state', 'Run the command as root.'],
  access_log: ['warning', 'access log', 'Free space or correct the permissions; requests are served, but not logged, until then.'],
  traces: ['warning', 'traces', 'Check the collector and --otlp-endpoint; requests are served, but their spans are lost after a while.'],
  token_keys_stale: ['warning', 'jwt', 'Check the issuer and its URL in keys of jwt; it is fetched again automatically.'],
  token_keys_missing: ['error', 'jwt', 'Check the issuer and its URL in keys of jwt; it is fetched again automatically.'],
  admin_certificate: ['warning', 'Admin API', 'Put a valid certificate and its key there; they are loaded immediately.'],
} as const satisfies Record<string, readonly [Severity, string, string]>;

function warningAlert(code: keyof Warnings, message: string): Alert {
  const [severity, subject, action] = WARNED[code];
  return alert(severity, code, subject, message, action);
}

/** `{domain}` stands for the name without a certificate. */
const CERTIFICATES = {
  certificate_missing: [
    'error',
    `Correct the cause, then retry at once with ${NAME} certificates --retry {domain}; otherwise it is retried automatically.`,
  ],
  certificate_expired: ['error', 'Provide a newer certificate, or correct what prevents its renewal.'],
  certificate_expiring: ['warning', 'Provide a newer certificate, or correct what prevents its renewal, before it ends.'],
  certificate_unusable: ['warning', 'Replace the file; it is read again automatically.'],
  certificate_refused: ['warning', 'Put a certificate that fits into the source of that controller.'],
  certificate_impossible: ['warning', 'Provide a certificate, or write "tls internal" or "tls off" into the site.'],
  certificates_failed: ['error', 'Correct the cause; it is tried again automatically.'],
} as const satisfies Record<string, readonly [Severity, string]>;

function certificateAlert({ kind, domain, message }: CertificateTrouble): Alert {
  const [severity, action] = CERTIFICATES[kind];
  return alert(
    severity,
    kind,
    domain ?? 'certificates',
    message,
    action.replace('{domain}', () => inShell(domain ?? 'NAME')),
    { domain },
  );
}

const historyAlert = (reason: string): Alert =>
  alert(
    'warning',
    'history_unavailable',
    'history',
    `the history of visits is unavailable: ${reason}`,
    'Free space in the state directory and correct its permissions; current figures and traffic are not affected.',
  );

const overrideAlert = ({ domain, controller, since }: Override): Alert =>
  alert(
    'advice',
    'route_overridden',
    domain,
    `the route of controller ${controller} for ${domain} is overridden by a posted one`,
    `If that is no longer wanted, remove the posted route with DELETE /routes/${domain}.`,
    { domain, since: new Date(since).toISOString() },
  );

function* upgradeAlerts({ version, installed_version: installed }: Situation['status']): Generator<Alert> {
  if (installed === undefined || installed === version) return;
  const message = `version ${version} is running, ${installed} is installed`;
  yield alert('advice', 'upgrade_pending', 'data plane', message, `Run ${NAME} upgrade; no request is lost.`);
}
