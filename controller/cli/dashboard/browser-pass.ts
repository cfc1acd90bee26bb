import { createHash, timingSafeEqual } from 'node:crypto';
import { NAME } from '../../../shared/name.ts';
import type { Random } from '../../../shared/runtime/random.ts';

const COOKIE = `${NAME}-dashboard`;

/**
 * Admits one browser. A key that works once is exchanged for a cookie. Browsers send cookies to every port of a host, so the cookie is
 * limited to a path that only this process has: no other program of the machine receives it.
 */
export class BrowserPass {
  /** Begins and ends with a slash. */
  readonly path: string;
  private readonly value: string;
  private key: string | null;

  constructor(random: Random) {
    this.path = `/${random.bytes(9).toString('base64url')}/`;
    this.value = random.bytes(32).toString('base64url');
    this.key = random.bytes(32).toString('base64url');
  }

  /** The query with which the path is opened for the first time; null once that has happened. */
  get query(): string | null {
    return this.key === null ? null : `?key=${this.key}`;
  }

  /** Whether the request's Cookie field carries the cookie. */
  isIn(cookies: string | undefined): boolean {
    return (cookies ?? '').split(';').some((one) => {
      const [name, value = ''] = one.trim().split('=', 2);
      return name === COOKIE && isSame(value, this.value);
    });
  }

  /** @returns the Set-Cookie field for the key, or null if the key is wrong or was used. */
  exchange(query: string): string | null {
    if (this.key === null || !isSame(query, `?key=${this.key}`)) return null;
    this.key = null;
    return `${COOKIE}=${this.value}; Path=${this.path}; HttpOnly; SameSite=Strict`;
  }
}

/** In constant time; digests have equal lengths, as timingSafeEqual requires. */
const isSame = (one: string, other: string): boolean => timingSafeEqual(digest(one), digest(other));
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
