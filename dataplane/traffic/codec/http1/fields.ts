import { readHops } from '../hops.ts';
import { hasBlankEdge } from './blank-edge.ts';
import { CLASS, COLON, CR, FIELD_VALUE, HTAB, LF, PLAIN, SP, TOKEN } from './chars.ts';
import { isClose, isKeepAlive } from './connection-options.ts';
import { readLength, readLengths } from './content-length.ts';
import { FAULT, type Fault } from './fault.ts';
import { FIELD, type FieldKind, HASH_SEED, hashStep, isDropped, kindOf, unlistedKind } from './field-names.ts';
import { withoutFields } from './kept-lines.ts';
import { nameFault } from './partial-fields.ts';
import { isOws, isToken, withoutOws } from './protocols.ts';
import { RepeatedValue } from './repeated-value.ts';

/** The maximum number of fields of a request. The limit on its size is usually reached first. */
export const MAX_REQUEST_FIELDS = 300;
/** The maximum number of fields of a response, unless configured otherwise, and of trailers. */
export const MAX_ANSWER_FIELDS = 1_000;
export const MAX_TRAILER_FIELDS = 100;
/** `prefetch;prerender` in Sec-Purpose; Safari's `Purpose: preview` shows a page as a thumbnail. */
const PREFETCH = /prefetch|prerender|preview/i;
/** The third letter of `X-Forwarded-`. */
const F = 0x66;

/**
 * Whose fields they are. Requests lose the fields that a client may not set. So do trailers in either direction, because a recipient that
 * merges them into the head would trust them.
 */
export type FieldSection = 'request' | 'response' | 'trailers';

/**
 * One field section (RFC 9112 5), read in a single pass: each byte is validated, the fields that matter to a proxy are recorded, and
 * everything to forward is joined, each line as `Name: value`, with this one space. The object is reused from message to message, so read
 * what you need before the next `scan`.
 */
export class Fields {
  /** The field lines to forward, each with its CRLF. */
  kept = '';
  /** Lines of a request that are forwarded only if a trusted proxy sent them. */
  vouched = '';
  count = 0;
  host: string | null = null;
  /** Bytes; -1 without Content-Length. */
  contentLength = -1;
  chunked = false;
  connectionClose = false;
  connectionKeepAlive = false;
  connectionUpgrade = false;
  upgrade: string | null = null;
  expectsContinue = false;
  forwardedFor: string | null = null;
  forwardedProto: string | null = null;
  forwardedHost: string | null = null;
  requestId: string | null = null;
  /** How often proxies like this one have forwarded the request. Infinity if the count is malformed. */
  hops = 0;
  referer: string | null = null;
  userAgent: string | null = null;
  /** Sec-Fetch-Dest: what the browser wants it for. */
  fetchDestination: string | null = null;
  /** Sec-GPC: the user does not want to be tracked. */
  privacyControl = false;
  /** Whether a browser loads it ahead of need. */
  prefetch = false;
  /** Authorization of a scheme that authenticates the connection rather than the request (RFC 4559 6). */
  bindsConnection = false;
  /** The trace that the sender says it belongs to; empty if there are several fields, which is invalid. */
  traceParent: string | null = null;
  hasTraceState = false;
  contentType: string | null = null;
  hasDate = false;
  hasStrictTransportSecurity = false;
  hasContentTypeOptions = false;
  hasFrameOptions = false;
  /** How many seconds the upstream promises to keep an idle connection, or -1 if it does not say. */
  keepAliveTimeout = -1;
  /** The maximum number of fields of the next section. */
  maxFields: number;
  /** Whether a line of the next section may end with LF alone (RFC 9112 2.2), as upstreams may send it. */
  bareLineFeeds = false;
  private nominated: string[] | null = null;
  /** The lines of the last section if it was valid, and what else its result depends on. */
  private last: string | null = null;
  private lastSection: FieldSection | null = null;
  private lastOverrides: ReadonlyMap<number, string> | null = null;
  private lastBareLineFeeds = false;
  private readonly hosts = new RepeatedValue();
  private readonly userAgents = new RepeatedValue();
  private readonly contentTypes = new RepeatedValue();

  constructor(maxFields: number) {
    this.maxFields = maxFields;
  }

  private reset(): void {
    this.kept = '';
    this.vouched = '';
    this.count = 0;
    this.host = null;
    this.contentLength = -1;
    this.chunked = false;
    this.connectionClose = false;
    this.connectionKeepAlive = false;
    this.connectionUpgrade = false;
    this.upgrade = null;
    this.expectsContinue = false;
    this.forwardedFor = null;
    this.forwardedProto = null;
    this.forwardedHost = null;
    this.requestId = null;
    this.hops = 0;
    this.referer = null;
    this.userAgent = null;
    this.fetchDestination = null;
    this.privacyControl = false;
    this.prefetch = false;
    this.bindsConnection = false;
    this.traceParent = null;
    this.hasTraceState = false;
    this.contentType = null;
    this.hasDate = false;
    this.hasStrictTransportSecurity = false;
    this.hasContentTypeOptions = false;
    this.hasFrameOptions = false;
    this.keepAliveTimeout = -1;
    this.nominated = null;
    this.last = null;
  }

  /**
   * Reads the field lines in `buffer[from, to)`, where `to` is right after the last line's CRLF. `raw` is the same message in Latin-1,
   * beginning at `start`. `overrides` contains the hashes of names that the route sets itself; those fields are not forwarded.
   * @returns the fault, or null if the section is valid.
   */
  scan(
    buffer: Buffer,
    raw: string,
    start: number,
    from: number,
    to: number,
    section: FieldSection,
    overrides: ReadonlyMap<number, string> | null,
  ): Fault | null {
    const lines = raw.slice(from - start, to - start);
    // Many clients send the same lines with each request, and many responses have the same lines as the one before.
    if (lines === this.last && this.isSame(section, overrides)) return null;
    this.reset();
    let at = from;
    let runStart = from;
    let kept = '';
    // Requests and trailers may make false claims about the client.
    const claimed = section !== 'response';
    const { maxFields } = this;
    while (at < to) {
      if (++this.count > maxFields) return FAULT.manyFields;
      const lineStart = at;
      let hash = HASH_SEED;
      let letters = PLAIN;
      let byte = buffer[at] as number;
      let classes = CLASS[byte] as number;
      while ((classes & TOKEN) !== 0) {
        letters &= classes;
        hash = hashStep(hash, byte);
        byte = buffer[++at] as number;
        classes = CLASS[byte] as number;
      }
      if (byte !== COLON || at === lineStart) return nameFault(byte, at === lineStart);
      const nameEnd = at;
      byte = buffer[++at] as number;
      const spaced = byte === SP;
      while (byte === SP || byte === HTAB) byte = buffer[++at] as number;
      const valueStart = at;
      while (((CLASS[byte] as number) & FIELD_VALUE) !== 0) byte = buffer[++at] as number;
      let valueEnd = at;
      while (valueEnd > valueStart && isOws(buffer[valueEnd - 1] as number)) valueEnd--;
      let plain = spaced && valueStart === nameEnd + 2 && valueEnd === at;
      if (byte === CR && buffer[at + 1] === LF) at += 2;
      else if (byte === LF && this.bareLineFeeds) {
        plain = false;
        at++;
      } else return byte === CR || byte === LF ? FAULT.bareLineEnd : FAULT.badFieldValue;
      let kind = kindOf(hash, buffer, lineStart, nameEnd);
      if (kind === FIELD.other && claimed && (letters === 0 || ((buffer[lineStart + 2] as number) | 0x20) === F))
        kind = unlistedKind(raw.slice(lineStart - start, nameEnd - start));
      let drop = false;
      if (kind !== FIELD.other) {
        const fault = letters === 0 ? null : this.note(kind, raw, valueStart - start, valueEnd - start, section);
        if (fault !== null) return fault;
        drop = isDropped(kind, claimed);
        if (kind === FIELD.vouched && section === 'request' && letters !== 0)
          this.vouched += `${raw.slice(lineStart - start, nameEnd - start)}: ${raw.slice(valueStart - start, valueEnd - start)}\r\n`;
      }
      if (claimed && (((buffer[valueStart] as number) | (buffer[valueEnd - 1] as number)) & 0x80) !== 0) {
        const blank = hasBlankEdge(raw.slice(valueStart - start, valueEnd - start));
        if (blank && section === 'request') return FAULT.blankEdge;
        drop ||= blank;
      }
      if (overrides !== null && !drop) {
        const name = overrides.get(hash);
        drop = name !== undefined && raw.slice(lineStart - start, nameEnd - start).toLowerCase() === name;
      }
      if (drop || !plain) {
        if (lineStart > runStart) kept += raw.slice(runStart - start, lineStart - start);
        if (!drop) kept += `${raw.slice(lineStart - start, nameEnd - start)}: ${raw.slice(valueStart - start, valueEnd - start)}\r\n`;
        runStart = at;
      }
    }
    if (runStart === from) kept = lines;
    else if (runStart < to) kept += raw.slice(runStart - start, to - start);
    this.kept = kept;
    if (this.nominated !== null) this.withdraw(this.nominated);
    if (this.chunked && this.contentLength >= 0) return FAULT.lengthAndCoding;
    this.last = lines;
    this.lastSection = section;
    this.lastOverrides = overrides;
    this.lastBareLineFeeds = this.bareLineFeeds;
    return null;
  }

  /** Whether the same lines as in the last section mean the same. */
  private isSame(section: FieldSection, overrides: ReadonlyMap<number, string> | null): boolean {
    return (
      section === this.lastSection &&
      overrides === this.lastOverrides &&
      this.bareLineFeeds === this.lastBareLineFeeds &&
      this.count <= this.maxFields
    );
  }

  /** To be called before a change of what was read: the next section is then read anew, even if it has the same lines. */
  forgetLast(): void {
    this.last = null;
  }

  /** Records a field with the value `raw.slice(from, to)`. A string is created only for the fields that need one. */
  private note(kind: FieldKind, raw: string, from: number, to: number, section: FieldSection): Fault | null {
    switch (kind) {
      case FIELD.host:
        if (this.host !== null) return FAULT.badHost;
        this.host = this.hosts.find(raw, from, to);
        return null;
      case FIELD.contentLength:
        return this.noteLength(section === 'response' ? readLengths(raw, from, to) : readLength(raw, from, to), section);
      case FIELD.transferEncoding:
        if (this.chunked || raw.slice(from, to).toLowerCase() !== 'chunked') return FAULT.badCoding;
        this.chunked = true;
        return null;
      case FIELD.connection:
        if (isKeepAlive(raw, from, to)) this.connectionKeepAlive = true;
        else if (isClose(raw, from, to)) this.connectionClose = true;
        else return this.noteConnection(raw.slice(from, to), section);
        return null;
      case FIELD.upgrade:
        this.upgrade = joined(this.upgrade, raw.slice(from, to));
        return null;
      case FIELD.expect:
        if (section !== 'request') return null;
        // RFC 9110 10.1.1 defines no other expectation, and we forward only what we understand.
        if (this.expectsContinue || raw.slice(from, to).toLowerCase() !== '100-continue') return FAULT.badExpectation;
        this.expectsContinue = true;
        return null;
      case FIELD.forwardedFor:
        this.forwardedFor = joined(this.forwardedFor, raw.slice(from, to));
        return null;
      case FIELD.forwardedProto:
        this.forwardedProto = raw.slice(from, to);
        return null;
      case FIELD.forwardedHost:
        this.forwardedHost = raw.slice(from, to);
        return null;
      case FIELD.requestId:
        this.requestId = raw.slice(from, to);
        return null;
      case FIELD.hops:
        this.hops = this.hops === 0 ? readHops(raw.slice(from, to)) : Number.POSITIVE_INFINITY;
        return null;
      case FIELD.referer:
        this.referer = raw.slice(from, to);
        return null;
      case FIELD.userAgent:
        this.userAgent = this.userAgents.find(raw, from, to);
        return null;
      case FIELD.fetchDestination:
        this.fetchDestination = raw.slice(from, to);
        return null;
      case FIELD.privacyControl:
        this.privacyControl = to - from === 1 && raw.startsWith('1', from);
        return null;
      case FIELD.purpose:
        this.prefetch ||= PREFETCH.test(raw.slice(from, to));
        return null;
      case FIELD.authorization:
        this.bindsConnection ||= BINDING.test(raw.slice(from, to));
        return null;
      case FIELD.traceParent:
        this.traceParent = this.traceParent === null ? raw.slice(from, to) : '';
        return null;
      case FIELD.traceState:
        this.hasTraceState = true;
        return null;
      case FIELD.contentType:
        this.contentType = this.contentTypes.find(raw, from, to);
        return null;
      case FIELD.date:
        this.hasDate = true;
        return null;
      case FIELD.strictTransportSecurity:
        this.hasStrictTransportSecurity = true;
        return null;
      case FIELD.contentTypeOptions:
        this.hasContentTypeOptions = true;
        return null;
      case FIELD.frameOptions:
        this.hasFrameOptions = true;
        return null;
      case FIELD.keepAlive: {
        const timeout = /(?:^|[,;\s])timeout=(\d{1,9})/i.exec(raw.slice(from, to));
        if (timeout) this.keepAliveTimeout = Number(timeout[1]);
        return null;
      }
      default:
        return null;
    }
  }

  /** A response may repeat Content-Length if all values are equal (RFC 9112 6.3, rule 5). */
  private noteLength(length: number, section: FieldSection): Fault | null {
    if (length < 0 || (this.contentLength >= 0 && (section !== 'response' || length !== this.contentLength))) return FAULT.badLength;
    this.contentLength = length;
    return null;
  }

  /** RFC 9110 7.6.1: options of this connection, and the names of fields that are meant for us alone. */
  private noteConnection(value: string, section: FieldSection): Fault | null {
    for (const part of value.split(',')) {
      const option = withoutOws(part).toLowerCase();
      switch (option) {
        case '':
          break;
        case 'close':
          this.connectionClose = true;
          break;
        case 'keep-alive':
          this.connectionKeepAlive = true;
          break;
        case 'upgrade':
          this.connectionUpgrade = true;
          break;
        default:
          if (!isToken(option)) {
            if (section === 'request') return FAULT.badConnection;
            break;
          }
          this.nominated ??= [];
          this.nominated.push(option);
      }
    }
    return null;
  }

  /** HTTP/1.0 has no expectations, so one from such a client is not forwarded (RFC 9110 10.1.1). */
  ignoreExpectation(): void {
    if (!this.expectsContinue) return;
    this.forgetLast();
    this.expectsContinue = false;
    this.kept = withoutFields(this.kept, EXPECT);
  }

  /** Removes the fields that `Connection` names, and what was recorded about them. */
  private withdraw(nominated: readonly string[]): void {
    const names = new Set(nominated.filter((name) => !PROTECTED.has(name)));
    if (names.size === 0) return;
    this.kept = withoutFields(this.kept, names);
    if (names.has('expect')) this.expectsContinue = false;
    if (names.has('traceparent')) this.traceParent = null;
    if (names.has('tracestate')) this.hasTraceState = false;
    if (names.has('date')) this.hasDate = false;
    if (names.has('strict-transport-security')) this.hasStrictTransportSecurity = false;
    if (names.has('x-content-type-options')) this.hasContentTypeOptions = false;
    if (names.has('x-frame-options')) this.hasFrameOptions = false;
  }
}

/** One more line of a field whose lines form a list (RFC 9110 5.3). */
const joined = (list: string | null, value: string): string => (list === null ? value : `${list}, ${value}`);

const BINDING = /^(?:ntlm|negotiate)\b/i;

const EXPECT: ReadonlySet<string> = new Set(['expect']);

/** Fields that `Connection` can't remove from what the upstream gets, even if it nominates them. */
const PROTECTED = new Set([
  'host',
  'cookie',
  'authorization',
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-real-ip',
  'x-request-id',
]);
