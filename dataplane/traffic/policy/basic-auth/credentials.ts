import { Buffer } from 'node:buffer';
import { fieldIn } from '../../codec/http1/kept-lines.ts';

/** The user and password that a client sends (RFC 7617 2). */
export type Credentials = {
  readonly user: string;
  /** The bytes as sent, because bcrypt compares bytes. */
  readonly password: Buffer;
};

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i;
const COLON = 0x3a;

/** The credentials among a request's field lines. null if there are none, or none that are unambiguous. */
export function credentialsIn(fields: string): Credentials | null {
  const value = fieldIn(fields, 'authorization');
  if (value === null || hasSecond(fields)) return null;
  const encoded = BASIC.exec(value)?.[1];
  if (encoded === undefined) return null;
  const bytes = Buffer.from(encoded, 'base64');
  const colon = bytes.indexOf(COLON);
  // RFC 7617 2: neither part may contain control characters. bcrypt would stop at a NUL.
  if (colon < 0 || bytes.some((byte) => byte < 0x20 || byte === 0x7f)) return null;
  return { user: bytes.toString('utf8', 0, colon), password: bytes.subarray(colon + 1) };
}

/** With two Authorization fields, an upstream might use the other one. */
function hasSecond(fields: string): boolean {
  const lower = `\r\n${fields.toLowerCase()}`;
  const first = lower.indexOf('\r\nauthorization:');
  return lower.indexOf('\r\nauthorization:', first + 1) >= 0;
}
