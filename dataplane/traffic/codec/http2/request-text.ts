import { ChunkedDecoder } from '../http1/chunked.ts';
import { FAULT, type Fault } from '../http1/fault.ts';
import { isToken } from '../http1/protocols.ts';

/** Fields that describe one HTTP/1.1 connection. In HTTP/2 they make a message malformed (RFC 9113 8.2.2). */
const OF_A_CONNECTION = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']);
/** Characters that would end a line or a field of HTTP/1.1, or are not allowed in a name (RFC 9113 8.2.1). */
const BREAKS_A_LINE = /[\0\r\n]/;
/** RFC 6455 4.1. */
const KEY_BYTES = 16;
const LOWER_CASE_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

/** The HTTP/1.1 form of a request head, or the reason why it is malformed. */
export type RequestText = { readonly text: string } | Pick<Fault, 'status' | 'reason'>;

const malformed = (reason: string): RequestText => ({ status: 400, reason });

/**
 * Writes an HTTP/2 head (RFC 9113 8.3) as the equivalent HTTP/1.1 head for the codec to read, so that both protocols are refused by the
 * same rules and nothing is forwarded that an upstream could read differently. `raw` has alternating names and values. `ends` means that no
 * body follows. `nextId` returns a number that it has not returned before.
 */
export function requestText(raw: readonly string[], ends: boolean, nextId: () => string): RequestText {
  const pseudo: Record<string, string> = {};
  const cookies: string[] = [];
  let lines = '';
  let host: string | null = null;
  let length: string | null = null;
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] as string;
    const value = raw[at + 1] as string;
    if (BREAKS_A_LINE.test(value)) return malformed('a field value has a line end or NUL');
    if (name.startsWith(':')) {
      if (lines !== '' || host !== null || cookies.length > 0) return malformed('a pseudo-header field follows a regular field');
      if (pseudo[name] !== undefined) return malformed(`${name} is repeated`);
      pseudo[name] = value;
      continue;
    }
    if (!LOWER_CASE_NAME.test(name)) return malformed('a field name is not a lower-case token');
    if (OF_A_CONNECTION.has(name) || (name === 'te' && value.toLowerCase() !== 'trailers'))
      return malformed(`${name} speaks of an HTTP/1.1 connection`);
    if (name === 'cookie') cookies.push(value);
    else if (name === 'sec-websocket-key' && pseudo[':protocol'] !== undefined) continue;
    else if (name === 'host') {
      if (host !== null) return malformed('host is repeated');
      host = value;
    } else {
      if (name === 'content-length') length = value;
      lines += `${name}: ${value}\r\n`;
    }
  }
  // RFC 9113 8.2.3: cookie crumbs are joined before they leave HTTP/2.
  if (cookies.length > 0) lines += `cookie: ${cookies.join('; ')}\r\n`;
  const { ':method': method, ':path': path, ':scheme': scheme, ':authority': authority } = pseudo;
  // CONNECT is the only method with neither path nor scheme (RFC 9113 8.5).
  const protocol = method === 'CONNECT' ? pseudo[':protocol'] : undefined;
  if (protocol !== undefined && !isToken(protocol)) return malformed(':protocol is not a token');
  if (method === 'CONNECT' && protocol?.toLowerCase() !== 'websocket') return FAULT.tunnelRequest;
  if (method === undefined || path === undefined || scheme === undefined) return malformed('a pseudo-header field is missing');
  if (scheme !== 'https' && scheme !== 'http') return malformed('the scheme is neither http nor https');
  const known = 3 + (authority === undefined ? 0 : 1) + (protocol === undefined ? 0 : 1);
  if (Object.keys(pseudo).length > known) return malformed('there is an unknown pseudo-header field');
  if (authority !== undefined && host !== null && authority.toLowerCase() !== host.toLowerCase())
    return malformed('host and :authority disagree');
  if (protocol !== undefined) {
    if (ends || length !== null) return malformed('extended CONNECT ends its stream or has a length');
    return { text: `GET ${path} HTTP/1.1\r\nHost: ${authority ?? host ?? ''}\r\n${lines}${upgradeLines(nextId())}\r\n` };
  }
  const framing = ends || length !== null ? '' : 'transfer-encoding: chunked\r\n';
  return { text: `${method} ${path} HTTP/1.1\r\nHost: ${authority ?? host ?? ''}\r\n${lines}${framing}\r\n` };
}

/**
 * HTTP/1.1 expresses an upgrade with fields, and extended CONNECT does without them (RFC 8441 5). We generate the key, which only serves to
 * check that the upstream understands the request (RFC 6455 1.3).
 */
function upgradeLines(id: string): string {
  const key = Buffer.from(id.slice(-KEY_BYTES).padStart(KEY_BYTES, '0'), 'latin1').toString('base64');
  return `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: ${key}\r\n`;
}

/** White space that may surround a value in HTTP/1.1 (RFC 9110 5.6.3) and may not in HTTP/2 (RFC 9113 8.2.1). */
const isWhite = (code: number): boolean => code === 32 || code === 9;

/**
 * Fields that no HTTP/2 message may carry (RFC 9113 8.2.2), and Content-Length, which is set with the framing. The library would
 * throw, or send it twice.
 */
const NEVER_SENT = new Set([...OF_A_CONNECTION, 'http2-settings', 'te', 'content-length']);
/** One bit for each length that one of these names has. It rules out most other names. */
const LENGTHS = [...NEVER_SENT].reduce((bits, name) => bits | (1 << name.length), 0);

/**
 * Field lines as an array for HTTP/2: alternating names and values, with names in lower case (RFC 9113 8.2). The library accepts the result
 * whatever the lines contain.
 */
export function fieldArray(lines: string, into: string[] = []): string[] {
  let at = 0;
  while (at < lines.length) {
    const colon = lines.indexOf(':', at);
    const end = lines.indexOf('\r\n', colon);
    let from = colon + 1;
    let to = end;
    while (from < to && isWhite(lines.charCodeAt(from))) from++;
    while (to > from && isWhite(lines.charCodeAt(to - 1))) to--;
    const name = lines.slice(at, colon).toLowerCase();
    if ((LENGTHS & (1 << (colon - at))) === 0 || !NEVER_SENT.has(name)) into.push(name, lines.slice(from, to));
    at = end + 2;
  }
  return into;
}

/** Field lines grouped by name. */
export function fieldsByName(lines: string): Record<string, string[]> {
  const byName: Record<string, string[]> = Object.create(null);
  const list = fieldArray(lines);
  for (let at = 0; at < list.length; at += 2) {
    const name = list[at] as string;
    byName[name] ??= [];
    byName[name].push(list[at + 1] as string);
  }
  return byName;
}

/** Reads the trailers with the HTTP/1.1 code, so that both protocols obey one rule. */
const NO_BODY = Buffer.from('0\r\n');
const nowhere = { bodyPiece: (): void => undefined };

/** Alternating names and values, from index `first`, as field lines. null if one of them is not allowed in HTTP/2 (RFC 9113 8.2). */
export function fieldLines(raw: readonly string[], first: number): string | null {
  let lines = '';
  for (let at = first; at < raw.length; at += 2) {
    const name = raw[at] as string;
    const value = raw[at + 1] as string;
    if (!LOWER_CASE_NAME.test(name) || BREAKS_A_LINE.test(value) || OF_A_CONNECTION.has(name)) return null;
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}

/** The trailer lines to pass on. null if one of them carries framing or describes a connection (RFC 9110 6.5.1). */
export function trailerLines(raw: readonly string[]): string | null {
  const lines = fieldLines(raw, 0);
  if (lines === null) return null;
  const section = Buffer.concat([NO_BODY, Buffer.from(`${lines}\r\n`, 'latin1')]);
  const decoder = new ChunkedDecoder('request');
  decoder.feed(section, 0, section.length, nowhere);
  return decoder.fault === null ? decoder.trailers : null;
}
