import { createHmac, timingSafeEqual } from 'node:crypto';
import { skipName, wireName } from './wire-name.ts';

/** A TSIG key shared with a DNS server (RFC 8945). */
export type TsigKey = {
  /** Lower case, without a trailing dot. */
  readonly name: string;
  readonly algorithm: TsigAlgorithm;
  readonly secret: Buffer;
};
export const TSIG_ALGORITHMS = { 'hmac-sha256': 'sha256', 'hmac-sha384': 'sha384', 'hmac-sha512': 'sha512' } as const;
export type TsigAlgorithm = keyof typeof TSIG_ALGORITHMS;

const TSIG = 250;
const ANY = 255;
/** The allowed clock skew (s): RFC 8945 10. */
const FUDGE = 300;
const HEADER = 12;
const ADDITIONAL_COUNT = 10;

export type Signed = { readonly message: Buffer; readonly mac: Buffer };

/** Signs an encoded message that has no TSIG record yet. `seconds` since 1970. */
export function sign(message: Buffer, key: TsigKey, seconds: number): Signed {
  const stamp = timeFields(seconds);
  const mac = macOf(key, [message, variables(key, stamp, 0, Buffer.alloc(0))]);
  const rest = Buffer.concat([u16(mac.length), mac, message.subarray(0, 2), u16(0), u16(0)]);
  const data = Buffer.concat([wireName(key.algorithm), stamp, rest]);
  const record = Buffer.concat([wireName(key.name), u16(TSIG), u16(ANY), Buffer.alloc(4), u16(data.length), data]);
  return { message: counting(Buffer.concat([message, record]), 1), mac };
}

export type SignatureVerdict =
  | 'good'
  /** No signature: servers answer like this when they can't authenticate the request (RFC 8945 5.3.2). */
  | 'unsigned'
  | 'bad'
  /** The server rejected our signature (RFC 8945 3). */
  | 'BADSIG'
  | 'BADKEY'
  | 'BADTIME';

const ERRORS: Readonly<Record<number, SignatureVerdict>> = { 16: 'BADSIG', 17: 'BADKEY', 18: 'BADTIME' };

/** Verifies the response to a message whose MAC was `requestMac`. @throws RangeError for a truncated response. */
export function verify(answer: Buffer, key: TsigKey, requestMac: Buffer, seconds: number): SignatureVerdict {
  const at = lastAdditional(answer);
  if (at === null) return 'unsigned';
  const fixed = skipName(answer, at);
  if (answer.readUInt16BE(fixed) !== TSIG) return 'unsigned';
  const data = fixed + 10;
  const stampAt = skipName(answer, data);
  const stamp = answer.subarray(stampAt, stampAt + 8);
  const macAt = stampAt + 10;
  const macEnd = macAt + answer.readUInt16BE(macAt - 2);
  const error = answer.readUInt16BE(macEnd + 2);
  const other = answer.subarray(macEnd + 6, macEnd + 6 + answer.readUInt16BE(macEnd + 4));
  const known = ERRORS[error];
  if (known !== undefined) return known;
  const unsigned = counting(Buffer.from(answer.subarray(0, at)), -1);
  answer.copy(unsigned, 0, macEnd, macEnd + 2);
  const expected = macOf(key, [u16(requestMac.length), requestMac, unsigned, variables(key, stamp, error, other)]);
  const given = answer.subarray(macAt, macEnd);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return 'bad';
  return Math.abs(stamp.readUIntBE(0, 6) - seconds) <= stamp.readUInt16BE(6) ? 'good' : 'bad';
}

/** RFC 8945 4.3.3. */
const variables = (key: TsigKey, stamp: Buffer, error: number, other: Buffer): Buffer =>
  Buffer.concat([wireName(key.name), u16(ANY), Buffer.alloc(4), wireName(key.algorithm), stamp, u16(error), u16(other.length), other]);

function timeFields(seconds: number): Buffer {
  const stamp = Buffer.alloc(8);
  stamp.writeUIntBE(seconds, 0, 6);
  stamp.writeUInt16BE(FUDGE, 6);
  return stamp;
}

function macOf(key: TsigKey, parts: readonly Buffer[]): Buffer {
  const hmac = createHmac(TSIG_ALGORITHMS[key.algorithm], key.secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

/** Adjusts the count of additional records in the header, in place. */
function counting(message: Buffer, more: number): Buffer {
  message.writeUInt16BE(message.readUInt16BE(ADDITIONAL_COUNT) + more, ADDITIONAL_COUNT);
  return message;
}

/** The offset of the last additional record, where a signature would be; null without one. */
function lastAdditional(message: Buffer): number | null {
  const count = (section: number): number => message.readUInt16BE(4 + 2 * section);
  if (count(3) === 0) return null;
  let at = HEADER;
  for (let left = count(0); left > 0; left--) at = skipName(message, at) + 4;
  let last = at;
  for (let left = count(1) + count(2) + count(3); left > 0; left--) {
    last = at;
    const fixed = skipName(message, at);
    at = fixed + 10 + message.readUInt16BE(fixed + 8);
  }
  return last;
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}
