import type { SettingStatus } from '../../shared/wire/status.ts';
import type { DnsServer } from './flag-values.ts';
import type { LayeredSettings } from './layers.ts';
import { type ClosedPort, httpPorts, httpsPorts, portsValue } from './ports.ts';

/** All implemented settings with their origin, by the name that flags and files share. */
export function settingStatuses(settings: LayeredSettings & { readonly closedPorts: readonly ClosedPort[] }): SettingStatus[] {
  const { origins } = settings;
  const open = (ports: readonly number[]) => ports.filter((port) => settings.closedPorts.every((closed) => closed.port !== port));
  return [
    { name: 'http_port', value: portsValue(open(httpPorts(settings))), origin: origins.httpPort },
    { name: 'https_port', value: portsValue(open(httpsPorts(settings))), origin: origins.httpsPort },
    { name: 'bind', value: settings.bind, origin: origins.bind },
    { name: 'workers', value: settings.workers, origin: origins.workers },
    { name: 'admin_listen', value: settings.adminListen, origin: origins.adminListen },
    { name: 'admin_allow_remote', value: settings.adminAllowRemote, origin: origins.adminAllowRemote },
    { name: 'admin_tls_cert', value: settings.adminTlsCert, origin: origins.adminTlsCert },
    { name: 'admin_tls_key', value: settings.adminTlsKey, origin: origins.adminTlsKey },
    { name: 'admin_socket', value: settings.adminSocket, origin: origins.adminSocket },
    { name: 'probe_listen', value: settings.probeListen, origin: origins.probeListen },
    { name: 'public_https_port', value: settings.publicHttpsPort, origin: origins.publicHttpsPort },
    { name: 'cert_dir', value: settings.certDir, origin: origins.certDir },
    { name: 'state_dir', value: settings.stateDir, origin: origins.stateDir },
    { name: 'metrics', value: settings.metrics, origin: origins.metrics },
    { name: 'analytics_retention', value: retentionText(settings.analyticsRetention), origin: origins.analyticsRetention },
    { name: 'analytics_max_size', value: settings.analyticsMaxSize, origin: origins.analyticsMaxSize },
    { name: 'cache_size', value: settings.cacheSize === 0 ? 'off' : settings.cacheSize, origin: origins.cacheSize },
    { name: 'cache_disk_size', value: settings.cacheDiskSize === 0 ? 'off' : settings.cacheDiskSize, origin: origins.cacheDiskSize },
    { name: 'trusted_proxies', value: [...settings.trustedProxies], origin: origins.trustedProxies },
    { name: 'proxy_protocol', value: settings.proxyProtocol, origin: origins.proxyProtocol },
    { name: 'proxy_protocol_ports', value: settings.proxyProtocolPorts, origin: origins.proxyProtocolPorts },
    { name: 'max_connections', value: settings.maxConnections, origin: origins.maxConnections },
    { name: 'max_connections_per_address', value: settings.maxConnectionsPerAddress, origin: origins.maxConnectionsPerAddress },
    { name: 'log_level', value: settings.logLevel, origin: origins.logLevel },
    { name: 'access_log', value: settings.accessLog ?? 'off', origin: origins.accessLog },
    { name: 'otlp_endpoint', value: settings.otlpEndpoint ?? 'off', origin: origins.otlpEndpoint },
    // The values are secret.
    { name: 'otlp_headers', value: settings.otlpHeaders.map(([name]) => name), origin: origins.otlpHeaders },
    { name: 'otlp_service_name', value: settings.otlpServiceName, origin: origins.otlpServiceName },
    { name: 'trace_sampling', value: settings.traceSampling, origin: origins.traceSampling },
    { name: 'trace_trust_clients', value: settings.traceTrustClients, origin: origins.traceTrustClients },
    { name: 'drain_timeout', value: durationText(settings.drainTimeoutMs), origin: origins.drainTimeoutMs },
    { name: 'shutdown_delay', value: durationText(settings.shutdownDelayMs), origin: origins.shutdownDelayMs },
    { name: 'email', value: settings.email, origin: origins.email },
    { name: 'acme', value: !settings.noAcme, origin: origins.noAcme },
    { name: 'acme_directory', value: settings.acmeDirectory, origin: origins.acmeDirectory },
    { name: 'acme_ca_root', value: rootText(settings.acmeRoot), origin: origins.acmeRoot },
    // The key of the binding is secret.
    { name: 'acme_eab', value: settings.acmeBinding?.kid ?? null, origin: origins.acmeBinding },
    { name: 'acme_dns_hook', value: settings.dnsHook, origin: origins.dnsHook },
    { name: 'acme_dns_server', value: serverText(settings.dnsServer), origin: origins.dnsServer },
    { name: 'acme_dns_key_file', value: settings.dnsKeyPath, origin: origins.dnsKeyPath },
    { name: 'acme_dns_resolver', value: serverText(settings.dnsResolver), origin: origins.dnsResolver },
    { name: 'local_certs', value: settings.localCerts, origin: origins.localCerts },
  ];
}

/** The path of a file, but not the content of certificates. */
const rootText = (root: LayeredSettings['acmeRoot']): string | null =>
  root === null || typeof root === 'string' ? root : 'the roots that the config file names';

const serverText = (server: DnsServer | null): string | null =>
  server && `${server.host.includes(':') ? `[${server.host}]` : server.host}:${server.port}`;

/** Formats milliseconds in the largest unit that divides them: 30000 is `30s`, 1500 is `1500ms`. */
export function durationText(ms: number): string {
  if (ms === 0) return '0s';
  for (const [unit, size] of LARGEST_FIRST) if (ms % size === 0) return `${ms / size}${unit}`;
  return `${ms}ms`;
}

const LARGEST_FIRST = [
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

const retentionText = (retention: number | 'off'): string => (retention === 'off' ? retention : `${retention / 86_400_000}d`);
