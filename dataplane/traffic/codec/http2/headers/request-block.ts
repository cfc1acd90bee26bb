import { FAULT, type Fault } from '../../http1/fault.ts';
import { isToken } from '../../http1/protocols.ts';
import { FieldLines, type FieldSink, ODDITY } from '../hpack/decoder.ts';
import { describesConnection, mayDescribeConnection } from './connection-fields.ts';

/** Names as indices of HPACK's static table (RFC 7541 appendix A). */
const NAME = { authority: 1, method: 2, path: 4, scheme: 6, status: 8, contentLength: 28, cookie: 32, host: 38 } as const;
const PRIORITY = 'priority';
const WEBSOCKET_KEY = 'sec-websocket-key';
const GET = Buffer.from('GET');
const HTTPS = Buffer.from('https');
const COLON = 0x3a;
/** The request line and Host replace the pseudo-header fields, which are longer; a host that came as a regular field needs more room. */
const HEADROOM = 512;
const MAX_HOST = 300;
/** RFC 6455 4.1. */
const KEY_BYTES = 16;

/** Why a request is refused. It is `malformed` if HTTP/2 itself does not allow it (RFC 9113 8.1.1), else it gets a response. */
export type RequestFault = Pick<Fault, 'status' | 'reason'> & { readonly malformed: boolean };

const malformed = (reason: string): RequestFault => ({ status: 400, reason, malformed: true });
const refused = ({ status, reason }: Pick<Fault, 'status' | 'reason'>): RequestFault => ({ status, reason, malformed: false });

/**
 * The fields of a request (RFC 9113 8.3), written as the equivalent HTTP/1.1 head while they are decoded. One parser therefore applies the
 * same rules to both protocols, and nothing is forwarded that an upstream could read differently. Reused from request to request.
 */
export class RequestBlock implements FieldSink {
  readonly lines = new FieldLines();
  /** The head is `lines.bytes[from, to)` once `finish` has accepted it. */
  from = 0;
  to = 0;
  /** The value of the Priority field (RFC 9218 5); empty without one. */
  priority = '';
  method: string | null = null;
  private refusal: RequestFault | null = null;
  private path: string | null = null;
  private scheme: string | null = null;
  private authority: string | null = null;
  private protocol: string | null = null;
  private host: string | null = null;
  /** The authority of an earlier request: the next one usually has the same. */
  private lastAuthority = { bytes: Buffer.alloc(0), text: '' };
  private cookies = '';
  private hasLength = false;
  /** Where the fields after the pseudo-header fields begin; -1 before the first of them. */
  private fieldsFrom = -1;

  begin(): void {
    this.lines.length = 0;
    this.lines.ensure(HEADROOM);
    this.lines.length = HEADROOM;
    this.refusal = null;
    this.method = null;
    this.path = null;
    this.scheme = null;
    this.authority = null;
    this.protocol = null;
    this.host = null;
    this.cookies = '';
    this.hasLength = false;
    this.fieldsFrom = -1;
    this.priority = '';
  }

  field(lines: FieldLines, start: number, colon: number, end: number, known: number, oddities: number): void {
    if (this.refusal !== null) return;
    if (oddities !== 0) {
      this.refusal =
        (oddities & ODDITY.name) !== 0
          ? malformed('a field name is not a lower-case token')
          : malformed('a field value has a control character or begins or ends with white space');
      return;
    }
    if (lines.bytes[start] === COLON) return this.pseudo(lines.bytes, start, colon, end, known);
    if (this.fieldsFrom < 0) this.fieldsFrom = start;
    if (known === NAME.contentLength) this.hasLength = true;
    else if (known === NAME.cookie) {
      // RFC 9113 8.2.3: the crumbs are joined before they leave HTTP/2.
      const crumb = valueIn(lines.bytes, colon, end);
      this.cookies = this.cookies === '' ? crumb : `${this.cookies}; ${crumb}`;
      lines.length = start;
    } else if (known === NAME.host) {
      if (this.host !== null) this.refusal = malformed('host is repeated');
      this.host = valueIn(lines.bytes, colon, end);
      lines.length = start;
    } else if (known === 0) this.unlisted(lines, start, colon, end);
    else if (mayDescribeConnection(colon - start)) this.checkConnectionField(lines.bytes, start, colon, end);
  }

  private unlisted(lines: FieldLines, start: number, colon: number, end: number): void {
    const { bytes } = lines;
    const length = colon - start;
    // We generate the key of an upgrade ourselves.
    if (this.protocol !== null && length === WEBSOCKET_KEY.length && bytes.toString('latin1', start, colon) === WEBSOCKET_KEY)
      lines.length = start;
    else if (mayDescribeConnection(length)) this.checkConnectionField(bytes, start, colon, end);
    else if (length === PRIORITY.length && bytes.toString('latin1', start, colon) === PRIORITY) this.priority = valueIn(bytes, colon, end);
  }

  private checkConnectionField(bytes: Buffer, start: number, colon: number, end: number): void {
    const name = bytes.toString('latin1', start, colon);
    if (describesConnection(name, valueIn(bytes, colon, end))) this.refusal = malformed(`${name} describes an HTTP/1.1 connection`);
  }

  private pseudo(bytes: Buffer, start: number, colon: number, end: number, known: number): void {
    if (this.fieldsFrom >= 0) {
      this.refusal = malformed('a pseudo-header field follows a regular field');
      return;
    }
    switch (known) {
      case NAME.method:
        if (this.method !== null) this.refusal = malformed(':method is repeated');
        this.method = isValue(bytes, colon, end, GET) ? 'GET' : valueIn(bytes, colon, end);
        return;
      case NAME.path:
        if (this.path !== null) this.refusal = malformed(':path is repeated');
        this.path = valueIn(bytes, colon, end);
        return;
      case NAME.scheme:
        if (this.scheme !== null) this.refusal = malformed(':scheme is repeated');
        this.scheme = isValue(bytes, colon, end, HTTPS) ? 'https' : valueIn(bytes, colon, end);
        return;
      case NAME.authority:
        if (this.authority !== null) this.refusal = malformed(':authority is repeated');
        this.authority = this.readAuthority(bytes, colon, end);
        return;
      default:
        if (bytes.toString('latin1', start, colon) !== ':protocol') this.refusal = malformed('there is an unknown pseudo-header field');
        else if (this.protocol !== null) this.refusal = malformed(':protocol is repeated');
        this.protocol = valueIn(bytes, colon, end);
    }
  }

  private readAuthority(bytes: Buffer, colon: number, end: number): string {
    if (!isValue(bytes, colon, end, this.lastAuthority.bytes))
      this.lastAuthority = { bytes: Buffer.from(bytes.subarray(colon + 2, end - 2)), text: valueIn(bytes, colon, end) };
    return this.lastAuthority.text;
  }

  /**
   * Completes the head. `ends` means that no body follows; `nextId` returns a number that it has not returned before.
   * @returns why the request is refused, or null.
   */
  finish(ends: boolean, nextId: () => string): RequestFault | null {
    const { method, path, authority, host, protocol } = this;
    const refusal = this.refusal ?? this.check(ends);
    if (refusal !== null || method === null || path === null) return refusal ?? malformed('a pseudo-header field is missing');
    const { lines } = this;
    if (this.fieldsFrom < 0) this.fieldsFrom = lines.length;
    const upgrade = protocol === null ? '' : upgradeLines(nextId());
    const cookie = this.cookies === '' ? '' : `cookie: ${this.cookies}\r\n`;
    const framing = ends || this.hasLength || protocol !== null ? '' : 'transfer-encoding: chunked\r\n';
    const tail = `${cookie}${upgrade}${framing}\r\n`;
    lines.ensure(tail.length);
    lines.length += lines.bytes.write(tail, lines.length, 'latin1');
    const line = `${protocol === null ? method : 'GET'} ${path} HTTP/1.1\r\nHost: ${authority ?? host ?? ''}\r\n`;
    this.from = this.fieldsFrom - line.length;
    this.to = lines.length;
    lines.bytes.write(line, this.from, 'latin1');
    return null;
  }

  private check(ends: boolean): RequestFault | null {
    const { method, path, scheme, authority, host, protocol } = this;
    if (authority !== null && host !== null && authority.toLowerCase() !== host.toLowerCase())
      return malformed('host and :authority disagree');
    if ((authority ?? host ?? '').length > MAX_HOST) return malformed('the host is too long');
    if (protocol !== null && method !== 'CONNECT') return malformed(':protocol without CONNECT');
    if (protocol !== null && !isToken(protocol)) return malformed(':protocol is not a token');
    // CONNECT is the only method with neither path nor scheme (RFC 9113 8.5), except with :protocol (RFC 8441 4).
    if (method === 'CONNECT' && protocol === null)
      return path !== null || scheme !== null ? malformed('CONNECT has a path or a scheme') : refused(FAULT.tunnelRequest);
    if (method === null || path === null || scheme === null) return malformed('a pseudo-header field is missing');
    // HTTP/1.1 also allows a whole URL there.
    if (!path.startsWith('/') && path !== '*') return malformed(':path is not a path');
    if (scheme !== 'https' && scheme !== 'http') return refused({ status: 400, reason: 'the scheme is neither http nor https' });
    if (protocol === null) return null;
    if (protocol.toLowerCase() !== 'websocket') return refused(FAULT.tunnelRequest);
    return ends || this.hasLength ? malformed('extended CONNECT ends its stream or has a length') : null;
  }
}

/** Compares a value without creating a string. */
function isValue(bytes: Buffer, colon: number, end: number, expected: Buffer): boolean {
  const start = colon + 2;
  if (end - 2 - start !== expected.length) return false;
  for (let at = 0; at < expected.length; at++) if (bytes[start + at] !== expected[at]) return false;
  return true;
}

const valueIn = (bytes: Buffer, colon: number, end: number): string => bytes.toString('latin1', colon + 2, end - 2);

/**
 * HTTP/1.1 expresses an upgrade with fields, and extended CONNECT does without them (RFC 8441 5). We generate the key, which only serves to
 * check that the upstream understands the request (RFC 6455 1.3).
 */
function upgradeLines(id: string): string {
  const key = Buffer.from(id.slice(-KEY_BYTES).padStart(KEY_BYTES, '0'), 'latin1').toString('base64');
  return `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: ${key}\r\n`;
}
