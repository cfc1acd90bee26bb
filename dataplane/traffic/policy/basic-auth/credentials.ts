import { Buffer } from 'node:buffer';
import { fieldIn } from '../../codec/http1/fields.ts';

/** Who a client says it is (RFC 7617 2). */
export type Credentials = {
  readonly user: string;
  /** As it came: bcrypt looks at bytes. */
  readonly password: Buffer;
};

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i;
const COLON = 0x3a;

/** The credentials among a request's field lines; null when there are none, or none that can be read in one way only. */
export function credentialsIn(fields: string): Credentials | null {
  const value = fieldIn(fields, 'authorization');
  if (value === null || hasSecond(fields)) return null;
  const encoded = BASIC.exec(value)?.[1];
  if (encoded === undefined) return null;
  const bytes = Buffer.from(encoded, 'base64');
  const colon = bytes.indexOf(COLON);
  // RFC 7617 2: neither half has control characters. bcrypt would end at a NUL.
  if (colon < 0 || bytes.some((byte) => byte < 0x20 || byte === 0x7f)) return null;
  return { user: bytes.toString('utf8', 0, colon), password: bytes.subarray(colon + 1) };
}

/** Whoever is behind us could believe the other one. */
function hasSecond(fields: string): boolean {
  const lower = `\r\n${fields.toLowerCase()}`;
  const first = lower.indexOf('\r\nauthorization:');
  return lower.indexOf('\r\nauthorization:', first + 1) >= 0;
}
