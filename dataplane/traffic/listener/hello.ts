/**
 * The ClientHello, read before TLS begins (RFC 8446 4.1.2, RFC 5246 7.4.1.2): which name the client requests and which protocols it offers.
 * Versions and ciphers are left to the library.
 */
export type HelloReading =
  /** Valid so far but incomplete. It can't be complete before there are `needs` bytes. */
  | { readonly kind: 'partial'; readonly needs: number }
  | { readonly kind: 'hello'; readonly hello: Hello }
  /** It begins like an HTTP request: an http:// URL was used for the HTTPS port. */
  | { readonly kind: 'plain' }
  | { readonly kind: 'malformed'; readonly reason: string };

export type Hello = {
  /** Lower case, without a trailing dot; null if the client sends no name, as with an address. */
  readonly serverName: string | null;
  /** ALPN protocols in the client's order (RFC 7301); empty if it offers none. */
  readonly protocols: readonly string[];
};

/** No valid ClientHello is longer (bytes): post-quantum key shares take less than 3 KB. */
export const MAX_HELLO = 16_384;

const RECORD_HEAD = 5;
const HANDSHAKE_RECORD = 22;
/** The maximum length of a record's plaintext (RFC 8446 5.1). */
const MAX_RECORD = 16_384;
const HANDSHAKE_HEAD = 4;
const CLIENT_HELLO = 1;
const RANDOM = 32;
const SERVER_NAME = 0;
const PROTOCOLS = 16;
const HOST_NAME = 0;
/** The characters of HTTP methods; no TLS record begins with one. */
const LETTER_A = 0x41;
const LETTER_Z = 0x5a;

const partial = (needs: number): HelloReading => ({ kind: 'partial', needs });
const malformed = (reason: string): HelloReading => ({ kind: 'malformed', reason });

/** Parses the bytes received so far. They may stop anywhere, and a ClientHello may span several records. */
export function readHello(bytes: Buffer): HelloReading {
  const first = bytes[0];
  if (first === undefined) return partial(1);
  if (first >= LETTER_A && first <= LETTER_Z) return { kind: 'plain' };
  const { message, fault } = gather(bytes);
  if (message.length > 0 && message[0] !== CLIENT_HELLO) return malformed('it does not begin with a ClientHello');
  const length = message.length < HANDSHAKE_HEAD ? 0 : message.readUIntBE(1, 3);
  const missing = HANDSHAKE_HEAD + length - message.length;
  if (length > MAX_HELLO) return malformed(`its hello is longer than ${MAX_HELLO} bytes`);
  if (missing > 0 && fault !== null) return malformed(fault);
  if (message.length < HANDSHAKE_HEAD) return partial(bytes.length + 1);
  if (missing > 0) return bytes.length > MAX_HELLO ? malformed('its hello is split into too many pieces') : partial(bytes.length + missing);
  try {
    return { kind: 'hello', hello: readBody(new Reader(message.subarray(HANDSHAKE_HEAD, HANDSHAKE_HEAD + length))) };
  } catch (error) {
    if (error instanceof ShortError) return malformed(error.message);
    throw error;
  }
}

/**
 * The payload of the leading records, and what is wrong with the next one, or null. Whether that matters depends on whether the message is
 * complete: other records may follow it at once, such as early data (RFC 8446 2.3).
 */
function gather(bytes: Buffer): { readonly message: Buffer; readonly fault: string | null } {
  const pieces: Buffer[] = [];
  let at = 0;
  let fault: string | null = null;
  while (at < bytes.length) {
    fault = faultOfRecord(bytes, at);
    if (fault !== null || at + RECORD_HEAD > bytes.length) break;
    const length = bytes.readUInt16BE(at + 3);
    pieces.push(bytes.subarray(at + RECORD_HEAD, at + RECORD_HEAD + length));
    at += RECORD_HEAD + length;
  }
  return { message: pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces), fault };
}

/** What is wrong with the head of a record, as far as it is there; null: nothing. */
function faultOfRecord(bytes: Buffer, at: number): string | null {
  if (bytes[at] !== HANDSHAKE_RECORD) return 'it does not begin with a TLS handshake';
  if (at + 1 < bytes.length && bytes[at + 1] !== 3) return 'its TLS version is unknown';
  if (at + RECORD_HEAD > bytes.length) return null;
  const length = bytes.readUInt16BE(at + 3);
  return length === 0 || length > MAX_RECORD ? `it has a record of ${length} bytes` : null;
}

function readBody(body: Reader): Hello {
  body.skip(2 + RANDOM);
  body.skip(body.byte());
  body.skip(body.word());
  body.skip(body.byte());
  let serverName: string | null = null;
  let protocols: readonly string[] = [];
  // A hello of TLS 1.2 may end here.
  if (body.left > 0) {
    const extensions = body.part(body.word());
    while (extensions.left > 0) {
      const type = extensions.word();
      const extension = extensions.part(extensions.word());
      if (type === SERVER_NAME) serverName = readServerName(extension);
      else if (type === PROTOCOLS) protocols = readProtocols(extension);
    }
  }
  return { serverName, protocols };
}

/** RFC 6066 3: a list that has one host name at most. */
function readServerName(extension: Reader): string | null {
  const list = extension.part(extension.word());
  while (list.left > 0) {
    const type = list.byte();
    const name = list.part(list.word()).text();
    if (type === HOST_NAME) return name.toLowerCase().replace(/\.$/, '') || null;
  }
  return null;
}

function readProtocols(extension: Reader): string[] {
  const list = extension.part(extension.word());
  const protocols: string[] = [];
  while (list.left > 0) protocols.push(list.part(list.byte()).text());
  return protocols;
}

class ShortError extends Error {}

/** Reads the fields of a message one by one. Throws ShortError if one claims more bytes than there are. */
class Reader {
  private readonly bytes: Buffer;
  private at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get left(): number {
    return this.bytes.length - this.at;
  }

  skip(length: number): void {
    if (length > this.left) throw new ShortError('its hello contradicts its own lengths');
    this.at += length;
  }

  byte(): number {
    this.skip(1);
    return this.bytes.readUInt8(this.at - 1);
  }

  word(): number {
    this.skip(2);
    return this.bytes.readUInt16BE(this.at - 2);
  }

  part(length: number): Reader {
    this.skip(length);
    return new Reader(this.bytes.subarray(this.at - length, this.at));
  }

  text(): string {
    return this.bytes.toString('latin1', this.at);
  }
}
