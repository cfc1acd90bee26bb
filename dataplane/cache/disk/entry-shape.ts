import { createHash } from 'node:crypto';
import { wasSetBack } from '../../../shared/policy/cache/set-back.ts';
import type { CacheEntry } from '../../traffic/cache-messages.ts';

/**
 * The data stored on disk for a response besides its body. It contains only a digest of the key, because the key may contain secrets that
 * policies add to requests for the upstream. A lookup knows the key.
 */
export type SavedHead = Omit<CacheEntry, 'id' | 'bodyId' | 'body' | 'key'> & { readonly keyDigest: string };

type Check = (value: unknown) => boolean;
const isText: Check = (value) => typeof value === 'string';
const isOptionalText: Check = (value) => value === null || typeof value === 'string';
const isTexts: Check = (value) => Array.isArray(value) && value.every(isText);
const isCount: Check = (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0;
const isFlag: Check = (value) => typeof value === 'boolean';

/** Every member is listed, so that a file of a version with other members is never taken for one of this version. */
const SHAPE: Readonly<Record<keyof SavedHead, Check>> = {
  keyDigest: isText,
  host: isText,
  target: isText,
  queryRule: isText,
  domain: isText,
  vary: isTexts,
  variant: isText,
  status: isCount,
  fields: isText,
  length: isCount,
  receivedAt: isCount,
  initialAge: isCount,
  lifetime: isCount,
  noCache: isFlag,
  mustRevalidate: isFlag,
  staleWhileRevalidate: isCount,
  staleIfError: isCount,
  etag: isOptionalText,
  lastModified: isOptionalText,
  hasExactDate: isFlag,
  tags: isTexts,
  shared: isFlag,
};
const MEMBERS = Object.entries(SHAPE);

/** null if it does not have exactly the form that this version writes. */
export function headFrom(text: string): SavedHead | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const members = new Map(Object.entries(value));
  const fits = members.size === MEMBERS.length && MEMBERS.every(([name, check]) => check(members.get(name)));
  return fits ? (value as SavedHead) : null;
}

export function headOf({ id: _, bodyId: __, body: ___, key, ...head }: CacheEntry): SavedHead {
  return { ...head, keyDigest: digestOf(key) };
}

export const digestOf = (key: string): string => createHash('sha256').update(key).digest('base64url');

/** Whether a response can still be used, if only after revalidation. `now` in ms since 1970. */
export function isUsable(head: SavedHead, now: number): boolean {
  if (wasSetBack(head.receivedAt, now)) return false;
  if (head.etag !== null || head.lastModified !== null) return true;
  const age = head.initialAge + (now - head.receivedAt) / 1_000;
  return age < head.lifetime + Math.max(head.staleWhileRevalidate, head.staleIfError);
}
