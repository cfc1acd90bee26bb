import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { issuesAnyName } from '../../shared/certificates/acme-directory.ts';
import { exampleIn } from '../../shared/command-examples.ts';
import { APPLIED_FOLDER, INTERNAL_ROOT_FILE, NAME, PASSTHROUGH_FILE, TOKENS_HELP } from '../../shared/name.ts';
import { type FlagValue, helpOf, readFlags, UsageError } from '../../shared/runtime/flags.ts';
import { FILE_GLOBALS_VARIABLE, RESTARTED_VARIABLE } from '../../shared/runtime/process/supervised.ts';
import { type Globals, parseGlobals, type SettingOrigin } from '../../shared/settings.ts';
import type { SettingStatus } from '../../shared/wire/status.ts';
import type { TrafficSettings } from '../traffic/protocol.ts';
import { maxSocketsFor } from './file-descriptors.ts';
import { DATAPLANE_FLAGS } from './flags.ts';
import { mergeLayers, type SettingName, type SettingValues } from './layers.ts';
import { type ClosedPort, closedWarning, httpPorts, httpsPorts, unusedProxyPorts } from './ports.ts';
import { requireTlsForOthers } from './remote-admin.ts';
import { settingStatuses } from './setting-statuses.ts';

/** What follows from `--no-acme`, and what to do instead. */
export const WHY_NO_ACME = `no certificates are ordered (--no-acme), because an authority's check may reach another data plane behind the same address, which can't answer it; provide certificates, in a cluster as TLS Secrets (cert-manager creates them)`;

export const COMMAND = 'dataplane';

export type DataplaneSettings = SettingValues & {
  readonly origins: Readonly<Record<SettingName, SettingOrigin>>;
  /** Flags and environment by flag name, which override the config file. */
  readonly given: ReadonlyMap<string, FlagValue>;
  /** Globals from the parent process at startup; newer than the saved ones. */
  readonly parentGlobals: Globals | null;
  /** Ports of the config file that can't be opened at the moment. */
  readonly closedPorts: readonly ClosedPort[];
  /** `--takeover`: replace the process that runs with this state directory. */
  readonly takeover: boolean;
  /**
   * Whether the parent has restarted the data plane. A process that serves by then has taken over from the one that ended, and is not
   * replaced.
   */
  readonly restarted: boolean;
  /** `--help`: print `dataplaneHelp` and exit. */
  readonly help: boolean;
};

export type EffectiveSettings = {
  readonly settings: DataplaneSettings;
  /** Every setting that works, for `GET /settings`. */
  readonly statuses: SettingStatus[];
  /** Configured values that are not in effect, one line each. */
  readonly warnings: string[];
};

/**
 * Reads flags, environment, the parent's globals and defaults, in this order of precedence.
 * @throws UsageError in one line that names the flag or the variable.
 */
export function readSettings(argv: readonly string[], env: Readonly<Record<string, string | undefined>>): DataplaneSettings {
  const { given, positionals, help } = readFlags(COMMAND, DATAPLANE_FLAGS, argv, env);
  const stray = positionals[0];
  if (stray !== undefined && !help) throw new UsageError(`${NAME} ${COMMAND}: unexpected argument "${stray}" (it takes flags only)`);
  const parentGlobals = readParentGlobals(env[FILE_GLOBALS_VARIABLE]);
  const values = mergeLayers(given, parentGlobals ?? {});
  if (!help) requireTlsForOthers(values);
  if (!help && values.noAcme && given.has('acme-email'))
    throw new UsageError(`${NAME} ${COMMAND}: --acme-email does not go with --no-acme: ${WHY_NO_ACME}`);
  const restarted = env[RESTARTED_VARIABLE] === '1';
  const takeover = given.get('takeover')?.value === true && !restarted;
  return Object.freeze({ ...values, given, parentGlobals, closedPorts: [], takeover, restarted, help });
}

/**
 * Merges the config file's globals below flags and environment.
 * Without `running` (at boot), the parent's globals override `globals`, which an earlier run saved.
 * If `unmovable` says why new ports or a new address can't be used, the listeners stay as in `running`, with a warning.
 */
export function effectiveSettings(
  base: DataplaneSettings,
  globals: Globals,
  running?: DataplaneSettings,
  unmovable?: string,
): EffectiveSettings {
  const file = running === undefined ? (base.parentGlobals ?? globals) : globals;
  const wanted: DataplaneSettings = { ...base, ...mergeLayers(base.given, file) };
  const kept = running !== undefined && unmovable !== undefined;
  const settings = Object.freeze(kept ? keepListeners(wanted, running) : wanted);
  const warnings = kept ? listenerWarnings(wanted, running, unmovable) : [];
  warnings.push(...connectionWarnings(settings));
  if (settings.noAcme && file.email !== undefined) warnings.push(`email is set in the config file, but not used: ${WHY_NO_ACME}`);
  return { settings, statuses: settingStatuses(settings), warnings };
}

/** The same without the ports that can't be opened at the moment, which are named in the warnings. */
export function withClosedPorts({ settings, warnings }: EffectiveSettings, closedPorts: readonly ClosedPort[]): EffectiveSettings {
  const next: DataplaneSettings = Object.freeze({ ...settings, closedPorts });
  return { settings: next, statuses: settingStatuses(next), warnings: [...warnings, ...closedPorts.map(closedWarning)] };
}

/** The settings that the workers need. */
export function trafficSettings(settings: DataplaneSettings): TrafficSettings {
  const { bind, httpPort, otherHttpPorts, trustedProxies, proxyProtocol, proxyProtocolPorts } = settings;
  const { maxConnections, maxConnectionsPerAddress, logLevel, accessLog } = settings;
  const { otlpEndpoint, traceSampling, traceTrustClients } = settings;
  const maxSockets = maxSocketsOf(settings);
  const https = {
    automatic: settings.email !== null,
    anyName: issuesAnyName(settings.acmeDirectory),
    dns: settings.dnsHook !== null || settings.dnsServer !== null,
    internal: existsSync(join(settings.stateDir, INTERNAL_ROOT_FILE)),
    local: settings.localCerts,
    publicPort: settings.publicHttpsPort,
  };
  return {
    bind,
    httpPort,
    otherHttpPorts,
    httpsPort: usesHttps(settings) || passesTls(settings) ? settings.httpsPort : null,
    otherHttpsPorts: settings.otherHttpsPorts,
    closedPorts: settings.closedPorts.map(({ port }) => port),
    https,
    trustedProxies,
    proxyProtocol,
    proxyProtocolPorts,
    maxConnections,
    maxConnectionsPerAddress,
    maxSockets,
    logLevel,
    accessLog,
    cacheSize: settings.cacheSize,
    tracing: otlpEndpoint === null ? null : { ratio: traceSampling, trustsClients: traceTrustClients },
  };
}

/** Whether there are or may be certificates: ordered, issued internally, applied by a controller, or placed in a certificate directory. */
export const usesHttps = ({ email, localCerts, certDir, stateDir, origins }: DataplaneSettings): boolean =>
  email !== null ||
  localCerts ||
  origins.certDir !== 'default' ||
  existsSync(certDir) ||
  [INTERNAL_ROOT_FILE, APPLIED_FOLDER].some((name) => existsSync(join(stateDir, name)));

/** Whether a route passes TLS connections through, or has done so. */
const passesTls = ({ stateDir }: DataplaneSettings): boolean => existsSync(join(stateDir, PASSTHROUGH_FILE));

/** What `--help` prints. */
export const dataplaneHelp = (): string =>
  `Usage: ${NAME} ${COMMAND} [flags]\n\nThe data plane alone: it carries the traffic and answers the Admin API.\n\n${helpOf(DATAPLANE_FLAGS)}\n\n${TOKENS_HELP}${exampleIn(COMMAND)}`;

function readParentGlobals(text: string | undefined): Globals | null {
  if (text === undefined || text === '') return null;
  const parsed = parseGlobals(parseJson(text));
  if (parsed.ok) return parsed.value;
  throw new UsageError(`${NAME} ${COMMAND}: ${FILE_GLOBALS_VARIABLE} does not contain the globals of a config file: ${parsed.reason}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(`${NAME} ${COMMAND}: ${FILE_GLOBALS_VARIABLE} is not JSON (\`${NAME} run\` sets it; unset it)`);
  }
}

/** @throws UsageError if PROXY headers would be accepted from anyone, who could then forge addresses. */
export function requireTrustedProxies({ proxyProtocol, proxyProtocolPorts, trustedProxies }: DataplaneSettings): void {
  if ((!proxyProtocol && proxyProtocolPorts.length === 0) || trustedProxies.length > 0) return;
  const flag = proxyProtocol ? '--proxy-protocol' : '--proxy-protocol-ports';
  throw new UsageError(
    `${NAME} ${COMMAND}: ${flag} needs trusted proxies, and there are none; name them with --trusted-proxies or trusted_proxies in the config file`,
  );
}

function connectionWarnings(settings: DataplaneSettings): string[] {
  const { proxyProtocol, proxyProtocolPorts, trustedProxies, maxConnections } = settings;
  const warnings: string[] = [];
  if (proxyProtocol && trustedProxies.length === 0)
    warnings.push('--proxy-protocol is on and trusted_proxies is empty: every connection is closed');
  else if (proxyProtocolPorts.length > 0 && trustedProxies.length === 0)
    warnings.push(
      `--proxy-protocol-ports names ${proxyProtocolPorts.join(', ')} and trusted_proxies is empty: every connection to them is closed`,
    );
  const unused = unusedProxyPorts(settings);
  if (unused.length > 0)
    warnings.push(`--proxy-protocol-ports names ${unused.join(', ')}, but nothing listens there; add it to --http-port or --https-port`);
  if (settings.cacheDiskSize > 0 && settings.cacheSize === 0)
    warnings.push('--cache-disk-size is set, but the cache has no size: nothing is stored; set --cache-size, or cache in the config file');
  const room = maxSocketsOf(settings);
  if (maxConnections > room)
    warnings.push(`max_connections is ${maxConnections}, but file descriptors allow ${room}; raise the limit of open files (ulimit -n)`);
  return warnings;
}

const maxSocketsOf = ({ workers, otherHttpPorts, otherHttpsPorts }: DataplaneSettings): number =>
  maxSocketsFor(workers, otherHttpPorts.length + otherHttpsPorts.length);

/** The settings of listening sockets, by their names in the config file. */
const LISTENERS: readonly (readonly [name: string, textOf: (settings: DataplaneSettings) => string])[] = [
  ['http_port', (settings) => httpPorts(settings).join(' ')],
  ['https_port', (settings) => httpsPorts(settings).join(' ')],
  ['bind', ({ bind }) => bind ?? 'every address'],
];

/** Whether the listeners differ. */
export const movesListeners = (running: DataplaneSettings, wanted: DataplaneSettings): boolean =>
  LISTENERS.some(([, textOf]) => textOf(wanted) !== textOf(running));

function keepListeners(wanted: DataplaneSettings, running: DataplaneSettings): DataplaneSettings {
  const { httpPort, httpsPort, otherHttpPorts, otherHttpsPorts, bind } = running;
  const publicHttpsPort = wanted.origins.publicHttpsPort === 'default' ? httpsPort : wanted.publicHttpsPort;
  const { httpPort: httpFrom, httpsPort: httpsFrom, bind: bindFrom } = running.origins;
  const origins = { ...wanted.origins, httpPort: httpFrom, httpsPort: httpsFrom, bind: bindFrom };
  return { ...wanted, httpPort, httpsPort, otherHttpPorts, otherHttpsPorts, bind, publicHttpsPort, origins };
}

function listenerWarnings(wanted: DataplaneSettings, running: DataplaneSettings, reason: string): string[] {
  return LISTENERS.filter(([, textOf]) => textOf(wanted) !== textOf(running)).map(
    ([name, textOf]) => `${name} is ${textOf(wanted)} in the config file, but stays ${textOf(running)}: ${reason}`,
  );
}
