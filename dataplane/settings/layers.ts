import { availableParallelism } from 'node:os';
import {
  DEFAULT_ACME_DIRECTORY,
  DEFAULT_ADMIN_LISTEN,
  DEFAULT_ADMIN_SOCKET,
  DEFAULT_CERT_DIR,
  DEFAULT_STATE_DIR,
  NAME,
} from '../../shared/name.ts';
import type { FlagValue } from '../../shared/runtime/flags.ts';
import type { LogLevel } from '../../shared/runtime/log/log.ts';
import { DEFAULT_HTTP_PORT, DEFAULT_HTTPS_PORT, type Globals, type SettingOrigin } from '../../shared/settings.ts';
import type { Cidr } from '../../shared/values/cidr.ts';
import { defaultMaxConnections } from './default-connections.ts';
import { maxSocketsFor } from './file-descriptors.ts';
import type { AccountBinding, DnsServer, OtlpHeader } from './flag-values.ts';

export type SettingValues = {
  /** The main ports, and the others of their kind. */
  readonly httpPort: number;
  readonly httpsPort: number;
  readonly otherHttpPorts: readonly number[];
  readonly otherHttpsPorts: readonly number[];
  /** An IP address; null means every address, IPv4 and IPv6. */
  readonly bind: string | null;
  readonly workers: number;
  readonly adminListen: string;
  /** Whether `adminListen` may be an address that other machines can reach. */
  readonly adminAllowRemote: boolean;
  /** A file; null if the Admin API uses plain HTTP. */
  readonly adminTlsCert: string | null;
  /** A file; null if `adminTlsCert` is. */
  readonly adminTlsKey: string | null;
  /** Path of the Unix socket; null: none. */
  readonly adminSocket: string | null;
  /** `host:port`; null is off. */
  readonly probeListen: string | null;
  /** The port in redirects to HTTPS. */
  readonly publicHttpsPort: number;
  readonly certDir: string;
  readonly stateDir: string;
  readonly metrics: boolean;
  /** How long the history of visits is kept (ms), and how large it may become (bytes). */
  readonly analyticsRetention: number | 'off';
  readonly analyticsMaxSize: number;
  /** Bytes; 0 is no cache. */
  readonly cacheSize: number;
  /** Bytes; 0: nothing is kept on disk. */
  readonly cacheDiskSize: number;
  readonly trustedProxies: readonly Cidr[];
  /** Whether every connection must begin with a PROXY header. */
  readonly proxyProtocol: boolean;
  /** Those on which connections must begin with one, if not all. */
  readonly proxyProtocolPorts: readonly number[];
  /** Maximum number of open client connections. */
  readonly maxConnections: number;
  /** Maximum number of open client connections per address or IPv6 /64. */
  readonly maxConnectionsPerAddress: number;
  readonly logLevel: LogLevel;
  /** `stdout`, an absolute path, or null for no access log. */
  readonly accessLog: string | null;
  /** The URL that spans are posted to; null: requests are not traced. */
  readonly otlpEndpoint: string | null;
  readonly otlpHeaders: readonly OtlpHeader[];
  readonly otlpServiceName: string;
  /** From 0 to 1. */
  readonly traceSampling: number;
  readonly traceTrustClients: boolean;
  readonly drainTimeoutMs: number;
  /** Between a signal to stop and the drain. */
  readonly shutdownDelayMs: number;
  /** null: no certificates are ordered. */
  readonly email: string | null;
  /** Whether none are ordered, even with an e-mail. */
  readonly noAcme: boolean;
  /** The URL of the authority's directory. */
  readonly acmeDirectory: string;
  /** A file, or PEM from the config file; null: the system's roots. */
  readonly acmeRoot: string | { readonly pem: string } | null;
  readonly acmeBinding: AccountBinding | null;
  /** A program; null: none. */
  readonly dnsHook: string | null;
  readonly dnsServer: DnsServer | null;
  /** A file; null: updates are not signed. */
  readonly dnsKeyPath: string | null;
  /** null: the servers of a record's zone. */
  readonly dnsResolver: DnsServer | null;
  /** Whether the internal authority issues for sites without a setting of their own. */
  readonly localCerts: boolean;
};
export type SettingName = keyof SettingValues;
export type LayeredSettings = SettingValues & { readonly origins: Readonly<Record<SettingName, SettingOrigin>> };

const DEFAULT_DRAIN_MS = 30_000;
const DEFAULT_RETENTION_MS = 400 * 86_400_000;
const DEFAULT_HISTORY_BYTES = 1_073_741_824;

/** Reads each setting from the layer with the highest precedence: flag, environment, config file, default. */
export function mergeLayers(given: ReadonlyMap<string, FlagValue>, file: Globals): LayeredSettings {
  const origins = {} as Record<SettingName, SettingOrigin>;
  const pick = <T>(name: SettingName, flag: string, fromFile: T | undefined, fallback: T): T => {
    const found = given.get(flag);
    origins[name] = found?.origin ?? (fromFile === undefined ? 'default' : 'file');
    return found === undefined ? (fromFile ?? fallback) : (found.value as T);
  };
  // The main port of a kind, and the others.
  const pickPorts = (main: 'httpPort' | 'httpsPort', others: SettingName, flag: string, fromFile: Globals['http_port'], usual: number) => {
    const [first = usual, ...rest] = [pick<number | readonly number[]>(main, flag, fromFile, usual)].flat();
    origins[others] = origins[main];
    return [first, rest] as const;
  };
  const [httpPort, otherHttpPorts] = pickPorts('httpPort', 'otherHttpPorts', 'http-port', file.http_port, DEFAULT_HTTP_PORT);
  const [httpsPort, otherHttpsPorts] = pickPorts('httpsPort', 'otherHttpsPorts', 'https-port', file.https_port, DEFAULT_HTTPS_PORT);
  const workers = workersOf(pick<number | 'auto'>('workers', 'workers', undefined, 'auto'));
  const usualConnections = defaultMaxConnections(maxSocketsFor(workers, otherHttpPorts.length + otherHttpsPorts.length), workers);
  const maxConnections = pick('maxConnections', 'max-connections', file.max_connections, usualConnections);
  const noAcme = pick('noAcme', 'no-acme', undefined, false);
  const email = pick<string | null>('email', 'acme-email', file.email, null);
  const values: SettingValues = {
    httpPort,
    httpsPort,
    otherHttpPorts,
    otherHttpsPorts,
    bind: pick<string | null>('bind', 'bind', file.bind, null),
    workers,
    adminListen: pick('adminListen', 'admin-listen', undefined, DEFAULT_ADMIN_LISTEN),
    adminAllowRemote: pick('adminAllowRemote', 'admin-allow-remote', undefined, false),
    adminTlsCert: pick<string | null>('adminTlsCert', 'admin-tls-cert', undefined, null),
    adminTlsKey: pick<string | null>('adminTlsKey', 'admin-tls-key', undefined, null),
    adminSocket: socketOf(pick<string | boolean>('adminSocket', 'admin-socket', undefined, false)),
    probeListen: pick<string | null>('probeListen', 'probe-listen', undefined, null),
    publicHttpsPort: pick('publicHttpsPort', 'public-https-port', undefined, httpsPort),
    certDir: pick('certDir', 'cert-dir', undefined, DEFAULT_CERT_DIR),
    stateDir: pick('stateDir', 'state-dir', undefined, DEFAULT_STATE_DIR),
    metrics: !pick('metrics', 'no-metrics', undefined, false),
    analyticsRetention: pick<number | 'off'>('analyticsRetention', 'analytics-retention', undefined, DEFAULT_RETENTION_MS),
    analyticsMaxSize: pick('analyticsMaxSize', 'analytics-max-size', undefined, DEFAULT_HISTORY_BYTES),
    cacheSize: pick('cacheSize', 'cache-size', file.cache, 0),
    cacheDiskSize: pick('cacheDiskSize', 'cache-disk-size', undefined, 0),
    trustedProxies: pick<readonly Cidr[]>('trustedProxies', 'trusted-proxies', file.trusted_proxies, []),
    proxyProtocol: pick('proxyProtocol', 'proxy-protocol', undefined, false),
    proxyProtocolPorts: pick<readonly number[]>('proxyProtocolPorts', 'proxy-protocol-ports', undefined, []),
    maxConnections,
    maxConnectionsPerAddress: pick(
      'maxConnectionsPerAddress',
      'max-connections-per-address',
      file.max_connections_per_address,
      defaultPerAddress(maxConnections, origins.maxConnections === 'default'),
    ),
    logLevel: pick<LogLevel>('logLevel', 'log-level', undefined, 'info'),
    accessLog: pick<string | null>('accessLog', 'access-log', undefined, null),
    otlpEndpoint: pick<string | null>('otlpEndpoint', 'otlp-endpoint', undefined, null),
    otlpHeaders: pick<readonly OtlpHeader[]>('otlpHeaders', 'otlp-headers', undefined, []),
    otlpServiceName: pick('otlpServiceName', 'otlp-service-name', undefined, NAME),
    traceSampling: pick('traceSampling', 'trace-sampling', undefined, 1),
    traceTrustClients: pick('traceTrustClients', 'trace-trust-clients', undefined, false),
    drainTimeoutMs: pick('drainTimeoutMs', 'drain-timeout', file.drain_timeout, DEFAULT_DRAIN_MS),
    shutdownDelayMs: pick('shutdownDelayMs', 'shutdown-delay', undefined, 0),
    email: noAcme ? null : email,
    noAcme,
    acmeDirectory: pick('acmeDirectory', 'acme-directory', file.acme_directory, DEFAULT_ACME_DIRECTORY),
    acmeRoot: pick<SettingValues['acmeRoot']>(
      'acmeRoot',
      'acme-ca-root',
      file.acme_ca_root === undefined ? undefined : { pem: file.acme_ca_root },
      null,
    ),
    acmeBinding: pick<AccountBinding | null>('acmeBinding', 'acme-eab', undefined, null),
    dnsHook: pick<string | null>('dnsHook', 'acme-dns-hook', undefined, null),
    dnsServer: pick<DnsServer | null>('dnsServer', 'acme-dns-server', undefined, null),
    dnsKeyPath: pick<string | null>('dnsKeyPath', 'acme-dns-key-file', undefined, null),
    dnsResolver: pick<DnsServer | null>('dnsResolver', 'acme-dns-resolver', undefined, null),
    localCerts: pick('localCerts', 'local-certs', file.local_certs, false),
  };
  return { ...values, origins: Object.freeze(origins) };
}

/** Bounds of the default per-address limit: enough for a large office behind one address, but not all connections. */
const MAX_DEFAULT_PER_ADDRESS = 4_096;
const MIN_DEFAULT_PER_ADDRESS = 256;

/** The default limit per address. `isDefault`: nobody has chosen how many there may be in all, which may be few for want of memory. */
function defaultPerAddress(all: number, isDefault: boolean): number {
  const least = isDefault ? Math.min(MIN_DEFAULT_PER_ADDRESS, Math.ceil(all / 2)) : MIN_DEFAULT_PER_ADDRESS;
  return Math.min(all, MAX_DEFAULT_PER_ADDRESS, Math.max(least, Math.ceil(all / 4)));
}

const socketOf = (given: string | boolean): string | null => (given === true ? DEFAULT_ADMIN_SOCKET : given === false ? null : given);

/** One worker on systems that can't balance a port over several listeners (SO_REUSEPORT). */
const workersOf = (given: number | 'auto'): number => {
  if (given !== 'auto') return given;
  return process.platform === 'darwin' || process.platform === 'win32' ? 1 : availableParallelism();
};
