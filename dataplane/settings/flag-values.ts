import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { MAX_CONNECTIONS, MIN_CACHE_BYTES } from '../../shared/limits.ts';
import { validateHeaderName, validateHeaderValue } from '../../shared/runtime/http/node-http.ts';
import { LOG_LEVELS, type LogLevel } from '../../shared/runtime/log/log-level.ts';
import { parseAddress, splitAddress } from '../../shared/values/address.ts';
import { type Milliseconds, parseDuration } from '../../shared/values/duration.ts';
import { accepted, type Parsed, refused } from '../../shared/values/parsed.ts';
import { parseSize } from '../../shared/values/size.ts';

/*
 * The values of flags that have no parser of their own elsewhere. A rejection says what is wrong with the text.
 */

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

export function parseBind(text: string): Parsed<string> {
  return isIP(text) === 0 ? refused('it is not an IP address (expected 192.0.2.1 or ::1)') : accepted(text);
}

export function parseWorkers(text: string): Parsed<number | 'auto'> {
  if (text === 'auto') return accepted('auto');
  const count = Number(text);
  return /^\d{1,3}$/.test(text) && count >= 1 && count <= MAX_WORKERS
    ? accepted(count)
    : refused(`it is neither auto nor a number from 1 to ${MAX_WORKERS}`);
}

export function parseConnections(text: string): Parsed<number> {
  const count = Number(text);
  return /^\d{1,8}$/.test(text) && count >= 1 && count <= MAX_CONNECTIONS
    ? accepted(count)
    : refused(`it is not a number from 1 to ${MAX_CONNECTIONS}`);
}

export function parseRetention(text: string): Parsed<number | 'off'> {
  if (text === 'off') return accepted('off');
  const duration = parseDuration(text);
  if (!duration.ok) return duration;
  return duration.value >= DAY_MS && duration.value <= MAX_RETENTION_MS ? duration : refused('it is not from 1d to 3650d, and not off');
}

export function parseHistorySize(text: string): Parsed<number> {
  const size = parseSize(text);
  return size.ok && size.value < MIN_HISTORY_BYTES ? refused('it is less than 1mb') : size;
}

export function parseCacheSize(text: string): Parsed<number> {
  if (text === 'off') return accepted(0);
  const size = /^\d{1,15}$/.test(text) ? accepted(Number(text)) : parseSize(text);
  return size.ok && size.value < MIN_CACHE_BYTES ? refused('it is less than 1mb') : size;
}

export function parseDiskCacheSize(text: string): Parsed<number> {
  return text === '0' ? accepted(0) : parseCacheSize(text);
}

export function parseSocketPath(text: string): Parsed<string> {
  return Buffer.byteLength(text) <= MAX_SOCKET_PATH
    ? accepted(text)
    : refused(`the path of a socket can be at most ${MAX_SOCKET_PATH} bytes long`);
}

export function parseLogLevel(text: string): Parsed<LogLevel> {
  const level = LOG_LEVELS.find((known) => known === text);
  return level === undefined ? refused(`it is not one of ${LOG_LEVELS.join(', ')}`) : accepted(level);
}

/** A relative path is one below the directory that the process is started in, as in every other flag. */
export function parseAccessLogFlag(text: string): Parsed<string | null> {
  if (text === 'off' || text === 'stdout') return accepted(text === 'off' ? null : text);
  return text.includes('\0') ? refused('it is not a path') : accepted(resolve(text));
}

/** The URL that spans are posted to: the path of the signal is added to the endpoint, as other programs do. */
export function parseOtlpEndpoint(text: string): Parsed<string | null> {
  if (text === 'off') return accepted(null);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return refused('it is not a URL like http://127.0.0.1:4318');
  if (url.username !== '' || url.password !== '') return refused('credentials belong in --otlp-headers');
  if (url.search !== '' || url.hash !== '') return refused('it must end with its path');
  return accepted(`${url.origin}${url.pathname.replace(/\/+$/, '')}${OTLP_TRACES}`);
}

/** As in W3C Baggage: the value is percent-encoded. */
export function parseOtlpHeader(text: string): Parsed<OtlpHeader> {
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

export function parseRatio(text: string): Parsed<number> {
  const ratio = Number(text);
  return /^\d(?:\.\d{1,9})?$/.test(text) && ratio <= 1 ? accepted(ratio) : refused('it is not a number from 0 to 1, such as 0.01');
}

export function parseEmail(text: string): Parsed<string> {
  return /^[^\s@]+@[^\s@]+$/.test(text) && text.length <= 320 ? accepted(text) : refused('it is not an address like admin@example.com');
}

export function parseBinding(text: string): Parsed<AccountBinding> {
  const [, kid, key] = /^([^:\s]+):([\w-]+={0,2})$/.exec(text) ?? [];
  return kid === undefined || key === undefined
    ? refused('it is not KID:KEY, with the key as the authority gives it (base64url)')
    : accepted({ kid, key });
}

/** The port defaults to 53. */
export function parseDnsServer(text: string): Parsed<DnsServer> {
  const bare = isIP(text) === 6 ? `[${text}]` : text;
  const parsed = parseAddress(splitAddress(bare).port === '' ? `${bare}:${DNS_PORT}` : bare);
  if (!parsed.ok) return refused(parsed.reason.replace('host:port', 'HOST[:PORT]'));
  const { host, port } = splitAddress(parsed.value);
  return accepted({ host, port: Number(port) });
}

export function parseDrainTimeout(text: string): Parsed<Milliseconds> {
  const parsed = parseDuration(text);
  return parsed.ok && parsed.value > MAX_DRAIN_MS ? refused('it is longer than a day') : parsed;
}
