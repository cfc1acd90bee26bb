import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { parseDirectoryUrl } from '../../shared/certificates/acme-directory.ts';
import { MAX_CONNECTIONS, MIN_CACHE_BYTES } from '../../shared/limits.ts';
import {
  DEFAULT_ACME_DIRECTORY,
  DEFAULT_ADMIN_LISTEN,
  DEFAULT_ADMIN_SOCKET,
  DEFAULT_CERT_DIR,
  DEFAULT_STATE_DIR,
  NAME,
} from '../../shared/name.ts';
import type { Flag } from '../../shared/runtime/flags.ts';
import { validateHeaderName, validateHeaderValue } from '../../shared/runtime/http/node-http.ts';
import { LOG_LEVELS, type LogLevel } from '../../shared/runtime/log/log-level.ts';
import { parseAddress, splitAddress } from '../../shared/values/address.ts';
import { parseCidr } from '../../shared/values/cidr.ts';
import { type Milliseconds, parseDuration } from '../../shared/values/duration.ts';
import { accepted, type Parsed, refused } from '../../shared/values/parsed.ts';
import { readPort } from '../../shared/values/port.ts';
import { parseSize } from '../../shared/values/size.ts';

/** External account binding: ties the ACME account to an existing account at the authority (RFC 8555 7.3.4). */
export type AccountBinding = { readonly kid: string; readonly key: string };

/** A field of the requests that carry spans. */
export type OtlpHeader = readonly [name: string, value: string];

/** A DNS server for queries or updates. */
export type DnsServer = { readonly host: string; readonly port: number };
const DNS_PORT = 53;
/** The path for traces, relative to the endpoint. */
const OTLP_TRACES = '/v1/traces';

/** More worker threads than this must be a typo. */
const MAX_WORKERS = 256;
/** The kernel's limit for a socket path, without the terminating zero (bytes). */
const MAX_SOCKET_PATH = 107;
const DAY_MS = 86_400_000;
const MAX_RETENTION_MS = 3_650 * DAY_MS;
const MIN_HISTORY_BYTES = 1_048_576;
/** The same maximum as in the config file (ms). */
const MAX_DRAIN_MS = 86_400_000;

function parseBind(text: string): Parsed<string> {
  return isIP(text) === 0 ? refused('it is not an IP address (expected 192.0.2.1 or ::1)') : accepted(text);
}

function parseWorkers(text: string): Parsed<number | 'auto'> {
  if (text === 'auto') return accepted('auto');
  const count = Number(text);
  return /^\d{1,3}$/.test(text) && count >= 1 && count <= MAX_WORKERS
    ? accepted(count)
    : refused(`it is neither auto nor a number from 1 to ${MAX_WORKERS}`);
}

function parseConnections(text: string): Parsed<number> {
  const count = Number(text);
  return /^\d{1,8}$/.test(text) && count >= 1 && count <= MAX_CONNECTIONS
    ? accepted(count)
    : refused(`it is not a number from 1 to ${MAX_CONNECTIONS}`);
}

function parseRetention(text: string): Parsed<number | 'off'> {
  if (text === 'off') return accepted('off');
  const duration = parseDuration(text);
  if (!duration.ok) return duration;
  return duration.value >= DAY_MS && duration.value <= MAX_RETENTION_MS ? duration : refused('it is not from 1d to 3650d, and not off');
}

function parseHistorySize(text: string): Parsed<number> {
  const size = parseSize(text);
  return size.ok && size.value < MIN_HISTORY_BYTES ? refused('it is less than 1mb') : size;
}

function parseCacheSize(text: string): Parsed<number> {
  if (text === 'off') return accepted(0);
  const size = /^\d{1,15}$/.test(text) ? accepted(Number(text)) : parseSize(text);
  return size.ok && size.value < MIN_CACHE_BYTES ? refused('it is less than 1mb') : size;
}

function parseDiskCacheSize(text: string): Parsed<number> {
  return text === '0' ? accepted(0) : parseCacheSize(text);
}

function parseSocketPath(text: string): Parsed<string> {
  return Buffer.byteLength(text) <= MAX_SOCKET_PATH
    ? accepted(text)
    : refused(`the path of a socket can be at most ${MAX_SOCKET_PATH} bytes long`);
}

function parseLogLevel(text: string): Parsed<LogLevel> {
  const level = LOG_LEVELS.find((known) => known === text);
  return level === undefined ? refused(`it is not one of ${LOG_LEVELS.join(', ')}`) : accepted(level);
}

/** A relative path is one below the directory that the process is started in, as in every other flag. */
function parseAccessLogFlag(text: string): Parsed<string | null> {
  if (text === 'off' || text === 'stdout') return accepted(text === 'off' ? null : text);
  return text.includes('\0') ? refused('it is not a path') : accepted(resolve(text));
}

/** The URL that spans are posted to: the path of the signal is added to the endpoint, as other programs do. */
function parseOtlpEndpoint(text: string): Parsed<string | null> {
  if (text === 'off') return accepted(null);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return refused('it is not a URL like http://127.0.0.1:4318');
  if (url.username !== '' || url.password !== '') return refused('credentials belong in --otlp-headers');
  if (url.search !== '' || url.hash !== '') return refused('it must end with its path');
  return accepted(`${url.origin}${url.pathname.replace(/\/+$/, '')}${OTLP_TRACES}`);
}

/** As in W3C Baggage: the value is percent-encoded. */
function parseOtlpHeader(text: string): Parsed<OtlpHeader> {
  const [, name = '', encoded = ''] = /^([^=]+)=(.*)$/.exec(text) ?? [];
  try {
    const value = decodeURIComponent(encoded.trim());
    validateHeaderName(name.trim());
    validateHeaderValue(name.trim(), value);
    return accepted([name.trim(), value]);
  } catch {
    return refused('it is not NAME=VALUE, with a value as in a URL');
  }
}

function parseRatio(text: string): Parsed<number> {
  const ratio = Number(text);
  return /^\d(?:\.\d{1,9})?$/.test(text) && ratio <= 1 ? accepted(ratio) : refused('it is not a number from 0 to 1, such as 0.01');
}

function parseEmail(text: string): Parsed<string> {
  return /^[^\s@]+@[^\s@]+$/.test(text) && text.length <= 320 ? accepted(text) : refused('it is not an address like admin@example.com');
}

function parseBinding(text: string): Parsed<AccountBinding> {
  const [, kid, key] = /^([^:\s]+):([\w-]+={0,2})$/.exec(text) ?? [];
  return kid === undefined || key === undefined
    ? refused('it is not KID:KEY, with the key as the authority gives it (base64url)')
    : accepted({ kid, key });
}

/** The port defaults to 53. */
function parseDnsServer(text: string): Parsed<DnsServer> {
  const bare = isIP(text) === 6 ? `[${text}]` : text;
  const parsed = parseAddress(splitAddress(bare).port === '' ? `${bare}:${DNS_PORT}` : bare);
  if (!parsed.ok) return refused(parsed.reason.replace('host:port', 'HOST[:PORT]'));
  const { host, port } = splitAddress(parsed.value);
  return accepted({ host, port: Number(port) });
}

function parseDrainTimeout(text: string): Parsed<Milliseconds> {
  const parsed = parseDuration(text);
  return parsed.ok && parsed.value > MAX_DRAIN_MS ? refused('it is longer than a day') : parsed;
}

/** Every flag of the data plane, in the order of `--help`. Flags marked `unavailable` are rejected until they are implemented. */
export const DATAPLANE_FLAGS: readonly Flag[] = [
  {
    name: 'http-port',
    kind: 'list',
    placeholder: 'PORT,...',
    help: 'HTTP ports; the first is the main one, which certificate authorities use',
    default: '80',
    parse: readPort,
  },
  {
    name: 'https-port',
    kind: 'list',
    placeholder: 'PORT,...',
    help: 'HTTPS ports; HTTP is redirected to the first',
    default: '443',
    parse: readPort,
  },
  { name: 'bind', placeholder: 'ADDR', help: 'IP address to listen on', default: 'all, IPv4 and IPv6', parse: parseBind },
  {
    name: 'workers',
    placeholder: 'N|auto',
    help: 'traffic worker threads; auto uses the CPU cores available to this process',
    default: 'auto',
    parse: parseWorkers,
  },
  {
    name: 'admin-listen',
    placeholder: 'HOST:PORT',
    help: 'address of the Admin API; a non-loopback address needs --admin-allow-remote',
    default: DEFAULT_ADMIN_LISTEN,
    parse: parseAddress,
  },
  { name: 'admin-allow-remote', kind: 'switch', help: 'allow other machines to use the Admin API, over TLS with a token' },
  {
    name: 'admin-tls-cert',
    placeholder: 'PATH',
    help: 'certificate chain of the Admin API, in PEM; it is then served over TLS only',
    default: 'none: plain HTTP on loopback',
  },
  { name: 'admin-tls-key', placeholder: 'PATH', help: 'private key of that certificate, in PEM', default: 'none' },
  {
    name: 'admin-socket',
    kind: 'optional',
    placeholder: 'PATH',
    help: `also serve the Admin API on a Unix socket; without PATH, ${DEFAULT_ADMIN_SOCKET}`,
    default: 'off',
    parse: parseSocketPath,
  },
  {
    name: 'probe-listen',
    placeholder: 'HOST:PORT',
    help: 'serve only /health, /ready and /metrics here, without a token',
    default: 'off',
    parse: parseAddress,
  },
  {
    name: 'public-https-port',
    placeholder: 'PORT',
    help: 'the externally visible HTTPS port, for redirects',
    default: 'the first HTTPS port',
    parse: readPort,
  },
  { name: 'cert-dir', placeholder: 'PATH', help: 'directory for certificates and the ACME account', default: DEFAULT_CERT_DIR },
  {
    name: 'acme-email',
    placeholder: 'EMAIL',
    help: 'contact address for automatic certificates; setting it enables automatic HTTPS',
    default: 'none: no automatic certificates',
    parse: parseEmail,
  },
  {
    name: 'no-acme',
    kind: 'switch',
    help: 'order no certificates, even if the config file has an email: for several data planes behind one address',
  },
  {
    name: 'acme-directory',
    placeholder: 'URL',
    help: 'ACME directory of the certificate authority',
    default: DEFAULT_ACME_DIRECTORY,
    parse: parseDirectoryUrl,
  },
  { name: 'acme-ca-root', placeholder: 'PATH', help: 'root certificates to verify the ACME server with, in PEM', default: "the system's" },
  {
    name: 'acme-eab',
    placeholder: 'KID:KEY',
    help: 'external account binding; prefer the environment variable, since flags show up in ps',
    default: 'none',
    parse: parseBinding,
    secret: true,
  },
  {
    name: 'acme-dns-hook',
    placeholder: 'PATH',
    help: 'program that sets DNS records for DNS-01 checks: PATH present|cleanup NAME VALUE',
    default: 'none: no wildcards',
  },
  {
    name: 'acme-dns-server',
    placeholder: 'HOST[:PORT]',
    help: 'DNS server that accepts dynamic updates for DNS-01 checks (RFC 2136)',
    default: 'none: no wildcards',
    parse: parseDnsServer,
  },
  {
    name: 'acme-dns-key-file',
    placeholder: 'PATH',
    help: 'TSIG key that signs these updates, as printed by tsig-keygen',
    default: 'none: unsigned',
  },
  {
    name: 'acme-dns-resolver',
    placeholder: 'HOST[:PORT]',
    help: 'DNS server to query for whether a record is public',
    default: "the zone's name servers",
    parse: parseDnsServer,
  },
  { name: 'local-certs', kind: 'switch', help: 'use certificates from the internal authority for every site' },
  {
    name: 'state-dir',
    placeholder: 'PATH',
    help: 'directory for state that survives restarts: routes and secrets',
    default: DEFAULT_STATE_DIR,
  },
  { name: 'no-metrics', kind: 'switch', help: 'disable /metrics' },
  {
    name: 'trusted-proxies',
    kind: 'list',
    placeholder: 'CIDR,...',
    help: 'proxies whose X-Forwarded headers are trusted',
    default: 'none',
    parse: parseCidr,
  },
  { name: 'proxy-protocol', kind: 'switch', help: 'expect a PROXY header on every connection; needs --trusted-proxies' },
  {
    name: 'proxy-protocol-ports',
    kind: 'list',
    placeholder: 'PORT,...',
    help: 'the same, only on connections to these ports',
    default: 'none',
    parse: readPort,
  },
  {
    name: 'max-connections',
    placeholder: 'N',
    help: 'maximum number of open client connections',
    default: 'three quarters of the file descriptor limit, or what the memory is enough for',
    parse: parseConnections,
  },
  {
    name: 'max-connections-per-address',
    placeholder: 'N',
    help: 'maximum number of open connections per client address or IPv6 /64; trusted proxies are exempt',
    default: 'a quarter of the maximum, at least 256, or half of a default below 512, and at most 4096',
    parse: parseConnections,
  },
  { name: 'log-level', placeholder: LOG_LEVELS.join('|'), help: 'minimum level to log', default: 'info', parse: parseLogLevel },
  {
    name: 'drain-timeout',
    placeholder: 'DURATION',
    help: 'how long requests in flight may take to finish on shutdown',
    default: '30s',
    parse: parseDrainTimeout,
  },
  {
    name: 'shutdown-delay',
    placeholder: 'DURATION',
    help: 'how long, on shutdown, everything is still served while /ready answers 503, before connections are refused and requests in flight finish',
    default: '0s',
    parse: parseDrainTimeout,
  },
  {
    name: 'analytics-retention',
    placeholder: 'DURATION|off',
    help: 'how long the daily history of visits is kept; hourly figures are kept for at most 35 days',
    default: '400d',
    parse: parseRetention,
  },
  {
    name: 'analytics-max-size',
    placeholder: 'BYTES',
    help: 'maximum size of the history on disk; the oldest entries are removed first',
    default: '1gb',
    parse: parseHistorySize,
  },
  {
    name: 'cache-size',
    placeholder: 'BYTES',
    help: 'memory for stored responses, such as 512mb; the directive cache turns it on for a site',
    default: 'off',
    parse: parseCacheSize,
  },
  {
    name: 'cache-disk-size',
    placeholder: 'BYTES',
    help: 'disk space in the state directory for stored responses, such as 10gb, so that they survive a restart; requires a cache size',
    default: 'off',
    parse: parseDiskCacheSize,
  },
  {
    name: 'access-log',
    placeholder: 'off|stdout|PATH',
    help: 'one line of JSON per request; reopened on SIGUSR2',
    default: 'off',
    parse: parseAccessLogFlag,
  },
  {
    name: 'otlp-endpoint',
    placeholder: 'URL|off',
    help: 'trace requests and send their spans here by OTLP over HTTP; /v1/traces is added to the path',
    default: 'off',
    parse: parseOtlpEndpoint,
  },
  {
    name: 'otlp-headers',
    kind: 'list',
    placeholder: 'NAME=VALUE,...',
    help: 'header fields of these requests, with values as in a URL (%20); prefer the environment variable, since flags show up in ps',
    default: 'none',
    parse: parseOtlpHeader,
    secret: true,
  },
  {
    name: 'otlp-service-name',
    placeholder: 'NAME',
    help: 'service.name of the spans',
    default: NAME,
  },
  {
    name: 'trace-sampling',
    placeholder: 'RATIO',
    help: 'share of the requests that are recorded, from 0 to 1, unless a trusted proxy has decided',
    default: '1',
    parse: parseRatio,
  },
  { name: 'trace-trust-clients', kind: 'switch', help: 'let every client decide with its traceparent whether a request is recorded' },
  { name: 'geoip', placeholder: 'PATH', help: 'country database', unavailable: true },
  { name: 'takeover', kind: 'switch', help: 'take over from the running process with the same state directory' },
];
