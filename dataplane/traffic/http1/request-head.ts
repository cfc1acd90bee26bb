import { isIPv6 } from 'node:net';
import { CLASS, CR, HOST, LF, SP, TARGET, TOKEN } from './chars.ts';
import { FAULT, type Fault } from './fault.ts';
import { Fields } from './fields.ts';

/** Bytes of a request head, request line and fields together. */
export const MAX_REQUEST_HEAD = 16_384;
/** Bytes of a request target. */
export const MAX_TARGET = 8_192;

/** The end of a head: an empty line. */
export const HEAD_END = Buffer.from('\r\n\r\n');

const VERSION_LENGTH = 8;
const H = 72;
const STAR = 42;
const SLASH = 47;

/**
 * A request's head (RFC 9112 3) as one value, reused from request to request on its connection.
 * `target` is what the upstream gets: origin-form or `*`; an absolute-form has been checked against Host and cut.
 */
export class RequestHead {
  method = '';
  target = '';
  /** 0 or 1: HTTP/1.0 or HTTP/1.1. */
  minor = 1;
  /** The Host field as sent; empty only in HTTP/1.0. */
  hostField = '';
  /** Host in lower case, without port and trailing dot. */
  host = '';
  readonly fields = new Fields();

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
    if (at - targetStart > MAX_TARGET) return FAULT.longTarget;
    if (byte !== SP) return byte === CR || byte === LF ? FAULT.badRequestLine : FAULT.badTarget;
    const targetEnd = at++;
    const fault = this.readVersion(buffer, at);
    if (fault !== null) return fault;
    at += VERSION_LENGTH;
    if (buffer[at] !== CR || buffer[at + 1] !== LF) return FAULT.badRequestLine;
    const fieldFault = this.fields.scan(buffer, raw, start, at + 2, end - 2, 'request', null);
    if (fieldFault !== null) return fieldFault;
    if (this.fields.chunked && this.minor === 0) return FAULT.codingInOldVersion;
    return this.readTarget(buffer, targetStart, raw.slice(targetStart - start, targetEnd - start));
  }

  private readVersion(buffer: Buffer, at: number): Fault | null {
    // "HTTP/1." and one digit: compared byte by byte, since this runs on every request.
    const named = buffer[at] === H && buffer[at + 1] === 84 && buffer[at + 2] === 84 && buffer[at + 3] === 80 && buffer[at + 4] === SLASH;
    if (!named || buffer[at + 5] !== 49 || buffer[at + 6] !== 46) return FAULT.badVersion;
    const minor = (buffer[at + 7] as number) - 48;
    if (minor !== 0 && minor !== 1) return FAULT.badVersion;
    this.minor = minor;
    return null;
  }

  private readTarget(buffer: Buffer, targetStart: number, target: string): Fault | null {
    if (this.method === 'CONNECT') return FAULT.tunnelRequest;
    const hostField = this.fields.host;
    if (hostField === null && this.minor === 1) return FAULT.badHost;
    this.hostField = hostField ?? '';
    if (hostField !== null && !this.readHost(hostField)) return FAULT.badHost;
    if (hostField === null) this.host = '';
    const first = buffer[targetStart] as number;
    this.target = target;
    if (first === SLASH) return null;
    if (first === STAR) return target === '*' && this.method === 'OPTIONS' ? null : FAULT.badTarget;
    return this.readAbsolute(target);
  }

  /** RFC 9112 3.2.2. A target that names another authority than Host would route one way here and another behind us. */
  private readAbsolute(target: string): Fault | null {
    const match = /^https?:\/\/([^/?]*)([/?].*)?$/i.exec(target);
    if (match === null) return FAULT.badTarget;
    const [, authority = '', rest = '/'] = match;
    if (authority === '' || authority.toLowerCase() !== this.hostField.toLowerCase()) return FAULT.hostDisagrees;
    this.target = rest.startsWith('?') ? `/${rest}` : rest;
    return null;
  }

  /** RFC 9110 7.2: `uri-host [ ":" port ]`. An empty Host is allowed by the grammar and routes nowhere. */
  private readHost(field: string): boolean {
    if (field === '') {
      this.host = '';
      return true;
    }
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

/** `:` and a number up to 65535; the grammar allows it to be empty (RFC 3986 3.2.3). */
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

/** The usual methods as constants, so that comparing them later is comparing pointers. */
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
 * Looks at a head that is not complete yet, so that hopeless bytes are refused at once and not at the
 * time limit: bare line ends, controls, and every line that is already whole.
 */
export function faultOfPartialHead(buffer: Buffer, start: number, end: number, scratch: RequestHead): Fault | null {
  let lastLineEnd = -1;
  for (let at = start; at < end; at++) {
    const byte = buffer[at] as number;
    if (byte === LF) {
      if (at === start || buffer[at - 1] !== CR) return FAULT.bareLineEnd;
      lastLineEnd = at + 1;
    } else if (byte === CR) {
      if (at + 1 < end && buffer[at + 1] !== LF) return FAULT.bareLineEnd;
    } else if ((byte < SP && byte !== 9) || byte === 127) return FAULT.badFieldValue;
  }
  if (lastLineEnd < 0) return faultOfPartialLine(buffer, start, end);
  const whole = Buffer.concat([buffer.subarray(start, lastLineEnd), Buffer.from('\r\n')]);
  const fault = scratch.parse(whole, 0, whole.length);
  // Host may still come: its absence is judged when the head is whole.
  return fault === FAULT.badHost && scratch.fields.host === null
    ? null
    : fault === FAULT.hostDisagrees && scratch.fields.host === null
      ? null
      : fault;
}

function faultOfPartialLine(buffer: Buffer, start: number, end: number): Fault | null {
  let at = start;
  while (at < end && ((CLASS[buffer[at] as number] as number) & TOKEN) !== 0) at++;
  if (at === end || buffer[at] === CR) return null;
  if (buffer[at] !== SP || at === start) return FAULT.badMethod;
  return end - at > MAX_TARGET + 16 ? FAULT.longTarget : null;
}
