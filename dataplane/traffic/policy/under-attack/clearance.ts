import { createHmac, hash, timingSafeEqual } from 'node:crypto';

/** Bytes of the signature: enough that no one can guess it. */
const MAC_BYTES = 16;
const TOKEN_BYTES = 5 + MAC_BYTES;
/** Characters of a token in base64url. */
const TOKEN_LENGTH = (TOKEN_BYTES * 4) / 3;
const COOKIE = /^([A-Za-z0-9_-]{28})\.(\d{1,15})$/;
/** A token, a dot and a number. */
const LONGEST_COOKIE = TOKEN_LENGTH + 16;
/** How many verified clearances a worker remembers. */
const MAX_KNOWN = 16_384;

/**
 * Challenges and their solutions, without any state but a key: a token contains its expiry and difficulty, signed together with the site
 * and the client's network; a clearance is a token and the number that the browser has found, so that SHA-256 of both begins with that many
 * zero bits.
 */
export class Clearances {
  private readonly key: Buffer;
  private readonly known = new Map<string, number>();

  /** `secret` is the same in all workers, and survives restarts. */
  constructor(secret: Uint8Array) {
    this.key = createHmac('sha256', secret).update('under_attack').digest();
  }

  /** A challenge for a client. @param expires seconds since 1970. */
  token(site: string, network: string, expires: number, bits: number): string {
    const bytes = Buffer.allocUnsafe(TOKEN_BYTES);
    bytes.writeUInt32BE(expires);
    bytes[4] = bits;
    this.sign(bytes, site, network).copy(bytes, 5, 0, MAC_BYTES);
    return bytes.toString('base64url');
  }

  /** Whether a cookie's value is the solution of a challenge for this client, at least this hard and not expired (seconds since 1970). */
  isValid(cookie: string, site: string, network: string, now: number, bits: number): boolean {
    if (cookie.length > LONGEST_COOKIE) return false;
    const known = `${cookie}\n${site}\n${network}`;
    const until = this.known.get(known);
    if (until !== undefined) return until > now && bitsOf(cookie) >= bits;
    const [, token = '', number] = COOKIE.exec(cookie) ?? [];
    if (number === undefined) return false;
    const bytes = Buffer.from(token, 'base64url');
    const expires = bytes.readUInt32BE();
    const claimed = bytes[4] as number;
    if (expires <= now || claimed < bits) return false;
    if (!timingSafeEqual(bytes.subarray(5), this.sign(bytes, site, network).subarray(0, MAC_BYTES))) return false;
    if (leadingZeros(hash('sha256', cookie, 'buffer')) < claimed) return false;
    if (this.known.size >= MAX_KNOWN) this.known.clear();
    this.known.set(known, expires);
    return true;
  }

  private sign(head: Buffer, site: string, network: string): Buffer {
    return createHmac('sha256', this.key).update(head.subarray(0, 5)).update(`${site}\n${network}`).digest();
  }
}

const bitsOf = (cookie: string): number => Buffer.from(cookie.slice(0, 8), 'base64url')[4] ?? 0;

/** The zero bits at the beginning of a hash. */
export function leadingZeros(bytes: Uint8Array): number {
  for (let at = 0; at < bytes.length; at++) if (bytes[at] !== 0) return at * 8 + Math.clz32(bytes[at] as number) - 24;
  return bytes.length * 8;
}
