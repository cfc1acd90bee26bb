import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { issuesAnyName } from '../../shared/certificates/acme-directory.ts';
import { exampleIn } from '../../shared/command-examples.ts';
import { APPLIED_FOLDER, ENV_PREFIX, INTERNAL_ROOT_FILE, NAME } from '../../shared/name.ts';
import { type FlagValue, helpOf, readFlags, UsageError } from '../../shared/runtime/flags.ts';
import { type Globals, type Origin, parseGlobals } from '../../shared/settings.ts';
import type { SettingStatus } from '../../shared/wire/status.ts';
import type { TrafficSettings } from '../traffic/protocol.ts';
import { maxSocketsFor } from './file-descriptors.ts';
import { DATAPLANE_FLAGS } from './flags.ts';
import { mergeLayers, type SettingName, type SettingValues } from './layers.ts';
import { settingStatuses } from './setting-statuses.ts';

export const COMMAND = 'dataplane';
/** How a supervisor hands over the config file's globals before the first apply: as JSON. */
export const FILE_GLOBALS_VARIABLE = `${ENV_PREFIX}FILE_GLOBALS`;

export type DataplaneSettings = SettingValues & {
  readonly origins: Readonly<Record<SettingName, Origin>>;
  /** What flags and environment said, by flag name: the layer that no file can change. */
  readonly given: ReadonlyMap<string, FlagValue>;
  /** What a supervisor handed over at the start; newer than what an earlier run saved. */
  readonly supervisorGlobals: Globals | null;
  /** `--takeover`: the process that runs with this state directory is to be replaced. */
  readonly takeover: boolean;
  /** `--help` was asked for: print `dataplaneHelp` and end. */
  readonly help: boolean;
};

export type EffectiveSettings = {
  readonly settings: DataplaneSettings;
  /** Every setting that works, for `GET /settings`. */
  readonly statuses: SettingStatus[];
  /** What was asked for and does not hold, one line each. */
  readonly warnings: string[];
};

/**
 * What flags, environment, a supervisor and the defaults say, in that order of strength.
 * @throws UsageError in one line that names the flag or the variable.
 */
export function readSettings(argv: readonly string[], env: Readonly<Record<string, string | undefined>>): DataplaneSettings {
  const { given, positionals, help } = readFlags(COMMAND, DATAPLANE_FLAGS, argv, env);
  const stray = positionals[0];
  if (stray !== undefined && !help) throw new UsageError(`${NAME} ${COMMAND}: unexpected argument "${stray}" (it takes flags only)`);
  const supervisorGlobals = readSupervisorGlobals(env[FILE_GLOBALS_VARIABLE]);
  return Object.freeze({
    ...mergeLayers(given, supervisorGlobals ?? {}),
    given,
    supervisorGlobals,
    takeover: given.get('takeover')?.value === true,
    help,
  });
}

/**
 * Puts the config file's globals beneath flags and environment.
 * Without `running` (at boot) what a supervisor handed over wins over `globals`, which an earlier run saved.
 * With a reason why other ports or another address can't be had, listeners stay where `running` has them, and a
 * warning tells of it.
 */
export function effectiveSettings(
  base: DataplaneSettings,
  globals: Globals,
  running?: DataplaneSettings,
  unmovable?: string,
): EffectiveSettings {
  const file = running === undefined ? (base.supervisorGlobals ?? globals) : globals;
  const wanted: DataplaneSettings = { ...base, ...mergeLayers(base.given, file) };
  const kept = running !== undefined && unmovable !== undefined;
  const settings = Object.freeze(kept ? keepListeners(wanted, running) : wanted);
  const warnings = kept ? listenerWarnings(wanted, running, unmovable) : [];
  warnings.push(...connectionWarnings(settings));
  return { settings, statuses: settingStatuses(settings), warnings };
}

/** The part of the settings that the traffic path needs. */
export function trafficSettings(settings: DataplaneSettings): TrafficSettings {
  const { bind, httpPort, trustedProxies, proxyProtocol, maxConnections, maxConnectionsPerAddress, logLevel } = settings;
  const maxSockets = maxSocketsFor(settings.workers);
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
    httpsPort: usesHttps(settings) ? settings.httpsPort : null,
    https,
    trustedProxies,
    proxyProtocol,
    maxConnections,
    maxConnectionsPerAddress,
    maxSockets,
    logLevel,
  };
}

/** Whether there are certificates, or will be: they are ordered, made by our own authority, brought by a controller, or somebody has made a place for them. */
export const usesHttps = ({ email, localCerts, certDir, stateDir, origins }: DataplaneSettings): boolean =>
  email !== null ||
  localCerts ||
  origins.certDir !== 'default' ||
  existsSync(certDir) ||
  [INTERNAL_ROOT_FILE, APPLIED_FOLDER].some((name) => existsSync(join(stateDir, name)));

/** What `--help` prints. */
export const dataplaneHelp = (): string =>
  `Usage: ${NAME} ${COMMAND} [FLAGS]\n\nThe data plane alone: it carries the traffic and answers the Admin API.\n\n${helpOf(DATAPLANE_FLAGS)}\n${exampleIn(COMMAND)}`;

function readSupervisorGlobals(text: string | undefined): Globals | null {
  if (text === undefined || text === '') return null;
  const parsed = parseGlobals(parseJson(text));
  if (parsed.ok) return parsed.value;
  throw new UsageError(`${NAME} ${COMMAND}: ${FILE_GLOBALS_VARIABLE} holds no globals of a config file: ${parsed.reason}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(`${NAME} ${COMMAND}: ${FILE_GLOBALS_VARIABLE} is not JSON (\`${NAME} run\` sets it; unset it)`);
  }
}

/** @throws UsageError: a PROXY header from just anybody is a forged address. */
export function requireTrustedProxies({ proxyProtocol, trustedProxies }: DataplaneSettings): void {
  if (!proxyProtocol || trustedProxies.length > 0) return;
  throw new UsageError(
    `${NAME} ${COMMAND}: --proxy-protocol believes trusted proxies only, and there are none; name them with --trusted-proxies or trusted_proxies in the config file`,
  );
}

function connectionWarnings({ proxyProtocol, trustedProxies, maxConnections, workers }: DataplaneSettings): string[] {
  const warnings: string[] = [];
  if (proxyProtocol && trustedProxies.length === 0)
    warnings.push('--proxy-protocol is on and trusted_proxies names nobody: every connection is closed');
  const room = maxSocketsFor(workers);
  if (maxConnections > room)
    warnings.push(`max_connections is ${maxConnections}, but file descriptors allow ${room}; raise the limit of open files (ulimit -n)`);
  return warnings;
}

/** The settings that are bound to open sockets, and their names in a config file. */
const LISTENERS = [
  ['httpPort', 'http_port'],
  ['httpsPort', 'https_port'],
  ['bind', 'bind'],
] as const;

/** Whether what is wanted has its listeners elsewhere. */
export const movesListeners = (running: DataplaneSettings, wanted: DataplaneSettings): boolean =>
  LISTENERS.some(([name]) => wanted[name] !== running[name]);

function keepListeners(wanted: DataplaneSettings, running: DataplaneSettings): DataplaneSettings {
  const { httpPort, httpsPort, bind } = running;
  const publicHttpsPort = wanted.origins.publicHttpsPort === 'default' ? httpsPort : wanted.publicHttpsPort;
  const { httpPort: httpFrom, httpsPort: httpsFrom, bind: bindFrom } = running.origins;
  const origins = { ...wanted.origins, httpPort: httpFrom, httpsPort: httpsFrom, bind: bindFrom };
  return { ...wanted, httpPort, httpsPort, bind, publicHttpsPort, origins };
}

function listenerWarnings(wanted: DataplaneSettings, running: DataplaneSettings, reason: string): string[] {
  return LISTENERS.filter(([name]) => wanted[name] !== running[name]).map(
    ([name, written]) =>
      `${written} is ${wanted[name] ?? 'every address'} in the config file, but stays ${running[name] ?? 'every address'}: ${reason}`,
  );
}
