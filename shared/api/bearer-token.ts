import { createHash, timingSafeEqual } from 'node:crypto';

/** Whether a request's Authorization header carries the token. Takes as long for a wrong token as for the right one. */
export function authorized(header: string | undefined, token: string | undefined): boolean {
  if (token === undefined || token === '') return false;
  const match = /^Bearer +(.+)$/i.exec(header ?? '');
  return timingSafeEqual(digest(match?.[1] ?? ''), digest(token)) && match !== null;
}

/** Equal lengths for any input, as timingSafeEqual demands. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
