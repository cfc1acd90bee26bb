import { isIPv4, isIPv6, SocketAddress } from 'node:net';
import { crc32c } from './crc32c.ts';

/**
 * The PROXY protocol, versions 1 and 2, as specified in HAProxy's `proxy-protocol.txt`: what a proxy reports about the client, before the
 * client's own first byte. The versions differ in their first bytes.
 */
export type ProxyReading =
  /** Valid so far but incomplete. */
  | { readonly kind: 'partial' }
  /** `length` in bytes. `client` null: the connection speaks for itself (LOCAL, UNKNOWN, a Unix socket). */
  | { readonly kind: 'header'; readonly length: number; readonly client: ProxiedClient | null }
  | { readonly kind: 'malformed'; readonly reason: string };

/** The end of the client's connection, as the proxy reports it. */
export type ProxiedClient = { readonly address: string; readonly port: number };

/** The longest line of version 1, with its CRLF (section 2.1). */
const MAX_LINE = 107;
/** The maximum length after the first 16 bytes of version 2: the addresses of a Unix socket take 216 bytes, the rest are extensions. */
const MAX_BINARY = 2_048;
/** No valid header is longer than this (bytes). */
export const MAX_PROXY_HEADER = 16 + MAX_BINARY;

const WORD = Buffer.from('PROXY ');
const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n');
const PARTIAL: ProxyReading = { kind: 'partial' };
const malformed = (reason: string): ProxyReading => ({ kind: 'malformed', reason });

/** Parses the header at the start of the bytes received so far. */
export function readProxyHeader(bytes: Buffer): ProxyReading {
  if (bytes.length === 0) return PARTIAL;
  if (beginsAs(bytes, WORD)) return bytes.length < WORD.length ? PARTIAL : readLine(bytes);
  if (beginsAs(bytes, SIGNATURE)) return bytes.length < SIGNATURE.length ? PARTIAL : readBinary(bytes);
  return malformed('it does not begin with a PROXY header');
}

/** Whether the bytes begin with the signature, or are a prefix of it. */
function beginsAs(bytes: Buffer, mark: Buffer): boolean {
  const length = Math.min(bytes.length, mark.length);
  return bytes.compare(mark, 0, length, 0, length) === 0;
}

// Version 1: one line of text (section 2.1).

function readLine(bytes: Buffer): ProxyReading {
  const end = bytes.subarray(0, MAX_LINE).indexOf('\r\n');
  if (end < 0) return bytes.length < MAX_LINE ? PARTIAL : malformed(`its line is longer than ${MAX_LINE} bytes`);
  const length = end + 2;
  const line = bytes.toString('latin1', WORD.length, end);
  if (line === 'UNKNOWN' || line.startsWith('UNKNOWN ')) return { kind: 'header', length, client: null };
  const [family, source = '', destination = '', from = '', to = '', ...more] = line.split(' ');
  const isAddress = family === 'TCP4' ? isIPv4 : family === 'TCP6' ? isPlainIPv6 : null;
  if (isAddress === null) return malformed('its line names neither TCP4, TCP6 nor UNKNOWN');
  if (more.length > 0 || !isAddress(source) || !isAddress(destination)) return malformed('its line has bad addresses');
  if (!isPort(from) || !isPort(to)) return malformed('its line has bad ports');
  return { kind: 'header', length, client: { address: family === 'TCP4' ? source : canonical(source), port: Number(from) } };
}

const isPlainIPv6 = (text: string): boolean => isIPv6(text) && !text.includes('%');
const isPort = (text: string): boolean => /^(?:0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535;

// Version 2: 16 fixed bytes, addresses, extensions (section 2.2).

const LOCAL = 0x20;
const PROXY = 0x21;
/** Family and transport in one byte: a stream over IPv4, IPv6 or a Unix socket, or unknown. */
const UNSPECIFIED = 0x00;
const TCP4 = 0x11;
const TCP6 = 0x21;
const UNIX = 0x31;
const ADDRESS_BYTES: ReadonlyMap<number, number> = new Map([
  [UNSPECIFIED, 0],
  [TCP4, 12],
  [TCP6, 36],
  [UNIX, 216],
]);

function readBinary(bytes: Buffer): ProxyReading {
  const command = bytes[12];
  if (command === undefined) return PARTIAL;
  if (command !== LOCAL && command !== PROXY) return malformed('its version or command is unknown');
  const family = bytes[13];
  if (family === undefined) return PARTIAL;
  const addressBytes = ADDRESS_BYTES.get(family);
  // The addresses of a LOCAL header are ignored.
  if (command === PROXY && addressBytes === undefined) return malformed('it is not for a stream over IPv4, IPv6 or a Unix socket');
  if (bytes.length < 16) return PARTIAL;
  const rest = bytes.readUInt16BE(14);
  if (rest > MAX_BINARY) return malformed(`it is longer than ${MAX_PROXY_HEADER} bytes`);
  if (command === PROXY && rest < (addressBytes ?? 0)) return malformed('it is too short for its addresses');
  const length = 16 + rest;
  if (bytes.length < length) return PARTIAL;
  if (command === LOCAL) return { kind: 'header', length, client: null };
  const fault = faultOfExtensions(bytes.subarray(0, length), 16 + (addressBytes ?? 0));
  if (fault !== null) return malformed(fault);
  return { kind: 'header', length, client: clientIn(bytes, family) };
}

function clientIn(bytes: Buffer, family: number): ProxiedClient | null {
  // The port of the client follows both addresses.
  if (family === TCP4) return { address: bytes.subarray(16, 20).join('.'), port: bytes.readUInt16BE(24) };
  if (family !== TCP6) return null;
  const groups: string[] = [];
  for (let at = 16; at < 32; at += 2) groups.push(bytes.readUInt16BE(at).toString(16));
  return { address: canonical(groups.join(':')), port: bytes.readUInt16BE(48) };
}

/** An IPv6 address as the system writes it, so that it equals the address of a client that connects directly. */
function canonical(address: string): string {
  const text = new SocketAddress({ address, family: 'ipv6' }).address;
  return text.startsWith('::ffff:') && text.includes('.') ? text.slice('::ffff:'.length) : text;
}

const CHECKSUM = 0x03;

/** Extensions are a type, a length in two bytes and a value; one of them may be a checksum of the whole header (2.2.3). */
function faultOfExtensions(header: Buffer, from: number): string | null {
  for (let at = from; at < header.length; ) {
    if (at + 3 > header.length) return 'an extension is cut off';
    const size = header.readUInt16BE(at + 1);
    const value = at + 3;
    if (value + size > header.length) return 'an extension is cut off';
    if (header[at] === CHECKSUM && !isChecksum(header, value, size)) return 'its checksum is wrong';
    at = value + size;
  }
  return null;
}

function isChecksum(header: Buffer, at: number, size: number): boolean {
  if (size !== 4) return false;
  const zeroed = Buffer.from(header);
  zeroed.writeUInt32BE(0, at);
  return crc32c(zeroed) === header.readUInt32BE(at);
}
