import { createHash, timingSafeEqual } from 'node:crypto';
import { NAME } from '../name.ts';

/** The value of `WWW-Authenticate` with a 401 (RFC 9110 11.6.1). */
export const CHALLENGE = `Bearer realm="${NAME}"`;

/** Whether a request's Authorization header carries the token, compared in constant time. */
export function authorized(header: string | undefined, token: string | undefined): boolean {
  if (token === undefined || token === '') return false;
  const match = /^Bearer +(.+)$/i.exec(header ?? '');
  return timingSafeEqual(digest(match?.[1] ?? ''), digest(token)) && match !== null;
}

/** Digests have equal lengths, as timingSafeEqual requires. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
