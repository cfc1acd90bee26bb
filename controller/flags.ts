import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { type AdminAddress, defaultAdminAddress, formatAdminAddress, parseAdminAddress, verifiedBy } from '../shared/api/admin-address.ts';
import { CONFIG_FILE, DEFAULT_ADMIN_LISTEN, DEFAULT_CONFIG_PATH, DEFAULT_CONTROLLER_LISTEN, NAME } from '../shared/name.ts';
import { type Flag, type Flags, UsageError } from '../shared/runtime/flags.ts';
import { LOG_LEVELS, type LogLevel } from '../shared/runtime/log/log-level.ts';
import { splitAddress } from '../shared/values/address.ts';
import { isLoopback } from '../shared/values/loopback.ts';
import { accepted, type Parsed, refused } from '../shared/values/parsed.ts';
import { DATAPLANE_CA_FLAG, isRootsFlag, rootsOf } from './dataplane-roots.ts';
import { DOCKER_FLAGS, type DockerSettings, dockerSettings } from './sources/docker/flags.ts';
import { KUBERNETES_FLAGS, type KubernetesSettings, kubernetesSettings } from './sources/kubernetes/flags.ts';

export const CONFIG_FLAG: Flag = {
  name: 'config',
  placeholder: 'PATH',
  help: 'the config file',
  default: `./${CONFIG_FILE} if it exists, else ${DEFAULT_CONFIG_PATH}`,
};

const DEFAULT_ID = 'controller';

export const ID_FLAG: Flag = {
  name: 'id',
  placeholder: 'NAME',
  help: 'name of this controller, if several configure the same data plane',
  default: DEFAULT_ID,
  parse: parseId,
};

/** Flags of `controller`, and of `run`. */
export const CONTROLLER_FLAGS: readonly Flag[] = [
  CONFIG_FLAG,
  {
    name: 'dataplane',
    kind: 'list',
    placeholder: 'ADDRESS',
    help: 'data plane to configure: HOST:PORT, https://HOST:PORT or unix:PATH; repeatable',
    default: `the default admin socket if it exists, else ${DEFAULT_ADMIN_LISTEN}`,
    parse: parseAdminAddress,
  },
  DATAPLANE_CA_FLAG,
  {
    name: 'listen',
    placeholder: 'HOST:PORT',
    help: "address for the controller's /health, /ready, /metrics and /status",
    default: DEFAULT_CONTROLLER_LISTEN,
    parse: parseListen,
  },
  ID_FLAG,
  { name: 'log-level', placeholder: LOG_LEVELS.join('|'), help: 'minimum level to log', default: 'info', parse: parseLevel },
  ...DOCKER_FLAGS,
  ...KUBERNETES_FLAGS,
];

export type Listen = { readonly host: string; readonly port: number };

export type ControllerSettings = {
  /** null: routes come only from other sources. */
  readonly config: string | null;
  /** null: no containers are discovered. */
  readonly docker: DockerSettings | null;
  /** null: no cluster is watched. */
  readonly kubernetes: KubernetesSettings | null;
  readonly dataplanes: readonly AdminAddress[];
  readonly listen: Listen;
  readonly id: string;
  readonly logLevel: LogLevel;
};

/** @throws UsageError if the config file is unreadable, or missing although it was specified or is the only source. */
export function controllerSettings(command: string, flags: Flags): ControllerSettings {
  if (flags.positionals.length > 0) throw new UsageError(`${NAME} ${command}: takes no arguments, got "${flags.positionals[0]}"`);
  const given = <T>(name: string, otherwise: T): T => (flags.given.get(name)?.value as T | undefined) ?? otherwise;
  const { host, port } = splitAddress(DEFAULT_CONTROLLER_LISTEN);
  const dataplanes = dataplanesOf(command, flags);
  const elsewhere = dataplanes.some((one) => one.kind === 'tls' && !isLoopback(one.host));
  const docker = dockerSettings(command, flags, elsewhere);
  const kubernetes = kubernetesSettings(command, flags);
  const isDiscovered = docker !== null || kubernetes !== null;
  const config = given<string | undefined>('config', undefined);
  return {
    config: isDiscovered && config === undefined && !existsSync(defaultConfig()) ? null : watchableConfig(command, config),
    docker,
    kubernetes,
    dataplanes,
    listen: given('listen', { host, port: Number(port) }),
    id: controllerId(flags),
    logLevel: given('log-level', 'info'),
  };
}

function dataplanesOf(command: string, flags: Flags): AdminAddress[] {
  const named = (flags.given.get('dataplane')?.value as AdminAddress[] | undefined) ?? [defaultAdminAddress()];
  if (isRootsFlag(flags) && named.every(({ kind }) => kind !== 'tls'))
    throw new UsageError(
      `${NAME} ${command}: --${DATAPLANE_CA_FLAG.name} is only for data planes over TLS; specify one with --dataplane https://HOST:PORT`,
    );
  // Two connections to one data plane would end each other for ever. `run` adds the socket of its own one to those that were named.
  const distinct = new Map(named.map((address) => [addressKey(address), address]));
  return [...distinct.values()].map((address) => verifiedBy(address, rootsOf(flags)));
}

const addressKey = (address: AdminAddress): string =>
  formatAdminAddress(address.kind === 'unix' ? { ...address, path: resolve(address.path) } : address);

export const controllerId = (flags: Flags): string => (flags.given.get('id')?.value as string | undefined) ?? DEFAULT_ID;

/** The config file's path: as given, else `./Sluicefile` if it exists, else the machine's default. @throws UsageError. */
export function readableConfig(command: string, named: string | undefined): string {
  const path = named ?? defaultConfig();
  try {
    accessSync(path, constants.R_OK);
    if (!statSync(path).isDirectory()) return path;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'does not exist' : code === 'EACCES' ? 'may not be read by this user' : `cannot be read (${code})`;
    const hint = named === undefined ? `, nor does ./${CONFIG_FILE}; specify one with --config PATH` : '';
    throw new UsageError(`${NAME} ${command}: the config file ${path} ${why}${hint}`);
  }
  // A container engine makes one where a file that it shall mount does not exist.
  throw new UsageError(
    `${NAME} ${command}: the config file ${path} is a directory: name the file in it, or create the file that is mounted there`,
  );
}

/** A named pipe would be read once for a plan, and wait for another writer for ever when it is read again. @throws UsageError. */
function watchableConfig(command: string, named: string | undefined): string {
  const path = readableConfig(command, named);
  if (statSync(path).isFile()) return path;
  throw new UsageError(
    `${NAME} ${command}: the config file ${path} is not a regular file: it is read again whenever it changes, so write it to a file`,
  );
}

const defaultConfig = (): string => (existsSync(CONFIG_FILE) ? CONFIG_FILE : DEFAULT_CONFIG_PATH);

/** Port 0 uses any free port; the log has its number. */
function parseListen(text: string): Parsed<Listen> {
  const { host, port } = splitAddress(text);
  if (host === '' || !/^\d{1,5}$/.test(port) || Number(port) > 65_535) return refused('an address to listen on is HOST:PORT');
  return accepted({ host, port: Number(port) });
}

function parseId(text: string): Parsed<string> {
  return /^[\w.-]{1,64}$/.test(text) ? accepted(text) : refused('a name is 1 to 64 letters, digits, dots, hyphens and underscores');
}

function parseLevel(text: string): Parsed<LogLevel> {
  const level = LOG_LEVELS.find((one) => one === text);
  return level ? accepted(level) : refused(`a level is one of ${LOG_LEVELS.join(', ')}`);
}
