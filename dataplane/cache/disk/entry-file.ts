import { createHash } from 'node:crypto';
import { headFrom, type SavedHead } from './entry-shape.ts';

/**
 * A file holds one response:
 *
 *   bytes 0–7     the type of the file, with the version of this format
 *   8–15          the length of the head, and of the body: 32 bits at 8, 48 bits at 12, and zeros
 *   24–55         SHA-256 of the body
 *   56–87         SHA-256 of bytes 0–55 and of the head
 *   88–           the head as JSON, and the body
 *
 * The first 88 bytes are written last, so an incomplete or changed file is recognized from the file alone.
 */
const MAGIC = Buffer.from('SLUICE\x00\x01', 'latin1');
/** Bytes before the head. */
export const PRELUDE = 88;
const DIGEST = 32;
const BODY_DIGEST_AT = 24;
const HEAD_DIGEST_AT = BODY_DIGEST_AT + DIGEST;
/** The maximum size of a head (bytes). Larger ones would be of no use, and memory for a head is reserved before it is verified. */
export const LARGEST_HEAD = 262_144;

export type Prelude = { readonly headLength: number; readonly bodyLength: number; readonly bodyDigest: Buffer; readonly bytes: Buffer };

export const digester = () => createHash('sha256');

/** The name of the file of a response, of 64 characters. URLs are not used as names, because they are long and private. */
export const nameOf = ({ keyDigest, vary, variant }: Pick<SavedHead, 'keyDigest' | 'vary' | 'variant'>): string =>
  digester()
    .update(JSON.stringify([keyDigest, vary, variant]))
    .digest('hex');

export function writePrelude(head: Buffer, bodyLength: number, bodyDigest: Buffer): Buffer {
  const bytes = Buffer.alloc(PRELUDE);
  MAGIC.copy(bytes);
  bytes.writeUInt32BE(head.length, 8);
  bytes.writeUIntBE(bodyLength, 12, 6);
  bodyDigest.copy(bytes, BODY_DIGEST_AT);
  digester().update(bytes.subarray(0, HEAD_DIGEST_AT)).update(head).digest().copy(bytes, HEAD_DIGEST_AT);
  return bytes;
}

/** null if it is not the beginning of a file of this size. */
export function readPrelude(bytes: Buffer, size: number): Prelude | null {
  if (bytes.length !== PRELUDE || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) return null;
  const headLength = bytes.readUInt32BE(8);
  const bodyLength = bytes.readUIntBE(12, 6);
  if (headLength > LARGEST_HEAD || size !== PRELUDE + headLength + bodyLength) return null;
  return { headLength, bodyLength, bodyDigest: bytes.subarray(BODY_DIGEST_AT, HEAD_DIGEST_AT), bytes };
}

/** null if the head is not the one that was written, or not that of a file with this name. */
export function readHead({ bytes, bodyLength }: Prelude, head: Buffer, name: string): SavedHead | null {
  const digest = digester().update(bytes.subarray(0, HEAD_DIGEST_AT)).update(head).digest();
  if (!digest.equals(bytes.subarray(HEAD_DIGEST_AT))) return null;
  const saved = headFrom(head.toString('utf8'));
  return saved === null || saved.length !== bodyLength || nameOf(saved) !== name ? null : saved;
}
