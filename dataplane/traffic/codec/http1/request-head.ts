import { isIPv6 } from 'node:net';
import { CLASS, CR, HOST, LF, SP, TARGET, TOKEN } from './chars.ts';
import { FAULT, type Fault } from './fault.ts';
import { Fields, MAX_REQUEST_FIELDS } from './fields.ts';
import { faultOfPartialFields } from './partial-fields.ts';
import { protocolsIn } from './protocols.ts';

/** The maximum size of a request head, request line and fields together (bytes). */
export const MAX_REQUEST_HEAD = 16_384;
/** The maximum length of a request target (bytes). */
export const MAX_TARGET = 8_192;

const VERSION_LENGTH = 8;
const H = 72;
const SLASH = 47;
const ABSOLUTE = /^https?:\/\/([^/?]+)([/?].*)?$/i;
const HTTPS = /^https:/i;
/** A port that is empty or the default one of the scheme, after a host (RFC 3986 6.2.3). */
const USUAL_PORT = { http: /(?<=.):(?:80)?$/, https: /(?<=.):(?:443)?$/ } as const;
const VERSIONS = ['HTTP/1.0\r\n', 'HTTP/1.1\r\n'];

/**
 * A request head (RFC 9112 3) as one value that its connection reuses from request to request. `target` is what the upstream gets:
 * origin-form or `*`. An absolute-form target has been compared with Host and reduced to origin-form.
 */
export class RequestHead {
  method = '';
  target = '';
  /** 0 or 1: HTTP/1.0 or HTTP/1.1. */
  minor = 1;
  /** The Host field as sent, or the authority of an HTTP/1.0 target. Empty if the client names no host. */
  hostField = '';
  /** The host in lower case, without port and trailing dot. */
  host = '';
  readonly fields = new Fields(MAX_REQUEST_FIELDS);

  /**
   * Reads `buffer[start, end)`, which ends with the empty line.
   * @returns the fault, or null. Nothing of the head may be used after a fault.
   */
  parse(buffer: Buffer, start: number, end: number): Fault | null {
    const raw = buffer.toString('latin1', start, end);
    let at = start;
    let byte = buffer[at] as number;
    while (((CLASS[byte] as number) & TOKEN) !== 0) byte = buffer[++at] as number;
    if (byte !== SP || at === start) return FAULT.badMethod;
    this.method = methodOf(raw, at - start);
    const targetStart = ++at;
    byte = buffer[at] as number;
    while (((CLASS[byte] as number) & TARGET) !== 0) byte = buffer[++at] as number;
    const beyondAscii = byte >= 0x80;
    while (isTarget(byte)) byte = buffer[++at] as number;
    if (at - targetStart > MAX_TARGET) return FAULT.longTarget;
    if (byte !== SP) return byte === CR || byte === LF ? FAULT.badRequestLine : FAULT.badTarget;
    const targetEnd = at++;
    const fault = this.readVersion(buffer, at);
    if (fault !== null) return fault;
    at += VERSION_LENGTH;
    if (buffer[at] !== CR || buffer[at + 1] !== LF) return FAULT.badRequestLine;
    if (end - start > MAX_REQUEST_HEAD) return FAULT.longHead;
    const fieldFault = this.fields.scan(buffer, raw, start, at + 2, end - 2, 'request', null);
    if (fieldFault !== null) return fieldFault;
    if (this.minor === 0 && this.fields.chunked) return FAULT.codingInOldVersion;
    if (this.minor === 0) this.fields.ignoreExpectation();
    // Checked even if the upgrade is ignored, because the field may be forwarded (RFC 9110 7.8).
    if (this.fields.upgrade !== null && protocolsIn(this.fields.upgrade) === null) return FAULT.badUpgrade;
    const target = raw.slice(targetStart - start, targetEnd - start);
    if (!beyondAscii) return this.readTarget(buffer, targetStart, target);
    const escaped = escapedTarget(target);
    return escaped.length > MAX_TARGET ? FAULT.longTarget : this.readTarget(buffer, targetStart, escaped);
  }

  private readVersion(buffer: Buffer, at: number): Fault | null {
    // "HTTP/1." and one digit. Compared byte by byte, because this runs for every request.
    const named = buffer[at] === H && buffer[at + 1] === 84 && buffer[at + 2] === 84 && buffer[at + 3] === 80 && buffer[at + 4] === SLASH;
    if (!named || buffer[at + 5] !== 49 || buffer[at + 6] !== 46) return FAULT.badVersion;
    const minor = (buffer[at + 7] as number) - 48;
    if (minor !== 0 && minor !== 1) return FAULT.badVersion;
    this.minor = minor;
    return null;
  }

  private readTarget(buffer: Buffer, targetStart: number, target: string): Fault | null {
    if (this.method === 'CONNECT') return FAULT.tunnelRequest;
    const first = buffer[targetStart] as number;
    const authority = first === SLASH ? null : this.readOtherForm(target);
    if (authority === '') return FAULT.badTarget;
    if (first === SLASH) this.target = target;
    const hostField = this.fields.host;
    if (hostField === null) return this.readWithoutHost(authority);
    if (!this.setHost(hostField)) return FAULT.badHost;
    // If the target named another authority than Host, we would route by one and the upstream by the other.
    return authority !== null && !isSameAuthority(target, authority, hostField) ? FAULT.hostDisagrees : null;
  }

  /**
   * Asterisk-form and absolute-form (RFC 9112 3.2.2, 3.2.4). @returns the authority, null if the form has none, '' for a malformed target.
   */
  private readOtherForm(target: string): string | null {
    if (target === '*') {
      this.target = target;
      return this.method === 'OPTIONS' ? null : '';
    }
    const match = ABSOLUTE.exec(target);
    if (match === null) return '';
    const [, authority = '', rest = ''] = match;
    if (rest === '') this.target = this.method === 'OPTIONS' ? '*' : '/';
    else this.target = rest.startsWith('?') ? `/${rest}` : rest;
    return authority;
  }

  /** Only HTTP/1.0 may omit Host (RFC 9112 3.2). The request is forwarded as HTTP/1.1, so it gets the host of the target. */
  private readWithoutHost(authority: string | null): Fault | null {
    if (this.minor === 1) return FAULT.badHost;
    if (!this.setHost(authority ?? '')) return FAULT.badTarget;
    this.fields.forgetLast();
    this.fields.kept = `Host: ${this.hostField}\r\n${this.fields.kept}`;
    return null;
  }

  /** Most requests of a connection have the host of the one before. @returns false if it is not a host. */
  private setHost(field: string): boolean {
    if (field === this.hostField && this.host !== '') return true;
    this.hostField = field;
    this.host = '';
    if (this.readHost(field)) return true;
    this.host = '';
    return false;
  }

  /** RFC 9110 7.2: `uri-host [ ":" port ]`. The grammar allows an empty Host, but it matches no route. */
  private readHost(field: string): boolean {
    if (field === '') return true;
    if (field.charCodeAt(0) === 91) return this.readBracketedHost(field);
    let at = 0;
    let upper = false;
    for (; at < field.length; at++) {
      const code = field.charCodeAt(at);
      if (code > 255 || ((CLASS[code] as number) & HOST) === 0) break;
      if (code >= 0x41 && code <= 0x5a) upper = true;
    }
    if (at === 0 || (at < field.length && !isPort(field, at))) return false;
    let host = at === field.length ? field : field.slice(0, at);
    if (upper) host = host.toLowerCase();
    if (host.charCodeAt(host.length - 1) === 46) host = host.slice(0, -1);
    this.host = host;
    return host.length > 0 && host.length <= 253;
  }

  private readBracketedHost(field: string): boolean {
    const close = field.indexOf(']');
    if (close < 0 || !isIPv6(field.slice(1, close)) || field.includes('%')) return false;
    if (close + 1 < field.length && !isPort(field, close + 1)) return false;
    this.host = field.slice(0, close + 1).toLowerCase();
    return true;
  }
}

/** Whether the authority of an absolute-form target is that of Host (RFC 9110 4.2.3). */
function isSameAuthority(target: string, authority: string, hostField: string): boolean {
  const usual = HTTPS.test(target) ? USUAL_PORT.https : USUAL_PORT.http;
  return authority.toLowerCase().replace(usual, '') === hostField.toLowerCase().replace(usual, '');
}

/** Bytes beyond ASCII are not allowed in a URI. They are escaped (RFC 3986 2.1), as browsers do. */
const isTarget = (byte: number): boolean => byte >= 0x80 || ((CLASS[byte] as number) & TARGET) !== 0;

const escapedTarget = (target: string): string =>
  target.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);

/** `:` and a number up to 65535. The grammar allows an empty port (RFC 3986 3.2.3). */
function isPort(field: string, colon: number): boolean {
  if (field.charCodeAt(colon) !== 58 || field.length - colon > 6) return false;
  let port = 0;
  for (let at = colon + 1; at < field.length; at++) {
    const digit = field.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) return false;
    port = port * 10 + digit;
  }
  return port <= 65_535;
}

/** Common methods as constants, so that later comparisons compare pointers. */
function methodOf(raw: string, length: number): string {
  if (length === 3) {
    if (raw.startsWith('GET')) return 'GET';
    if (raw.startsWith('PUT')) return 'PUT';
  } else if (length === 4) {
    if (raw.startsWith('POST')) return 'POST';
    if (raw.startsWith('HEAD')) return 'HEAD';
  }
  return raw.slice(0, length);
}

/**
 * Checks an incomplete head, so that bytes which no continuation can make valid are refused at once instead of at the time limit. Never
 * refuses the prefix of a valid head.
 */
export function faultOfPartialHead(buffer: Buffer, start: number, end: number, scratch: RequestHead): Fault | null {
  const lineEnd = buffer.indexOf(LF, start);
  if (lineEnd < 0 || lineEnd >= end) return faultOfPartialLine(buffer, start, end);
  const fault = faultOfWholeLines(buffer, start, end, scratch);
  return fault ?? faultOfPartialFields(buffer, lineEnd + 1, end);
}

function faultOfWholeLines(buffer: Buffer, start: number, end: number, scratch: RequestHead): Fault | null {
  const linesEnd = buffer.lastIndexOf(LF, end - 1) + 1;
  const whole = Buffer.concat([buffer.subarray(start, linesEnd), Buffer.from('\r\n')]);
  const fault = scratch.parse(whole, 0, whole.length);
  // Host may still arrive. A missing one is detected when the head is complete.
  return fault === FAULT.badHost && scratch.fields.host === null ? null : fault;
}

/** The request line as far as it has arrived: `method SP target SP version CRLF` (RFC 9112 3). */
function faultOfPartialLine(buffer: Buffer, start: number, end: number): Fault | null {
  let at = start;
  while (at < end && ((CLASS[buffer[at] as number] as number) & TOKEN) !== 0) at++;
  // A CR may be half of an empty line before the request line (RFC 9112 2.2).
  if (at === end || (at === start && end === start + 1 && buffer[at] === CR)) return null;
  if (buffer[at] !== SP || at === start) return FAULT.badMethod;
  const targetStart = ++at;
  while (at < end && isTarget(buffer[at] as number)) at++;
  if (at - targetStart > MAX_TARGET) return FAULT.longTarget;
  if (at === end) return null;
  if (buffer[at] !== SP || at === targetStart) return FAULT.badTarget;
  const version = buffer.toString('latin1', at + 1, end);
  return VERSIONS.some((one) => one.startsWith(version)) ? null : FAULT.badVersion;
}
