import { createHash } from 'node:crypto';
import type { BasicAuthSpec, RouteSpec } from './route.ts';
import type { BcryptHash } from './values/bcrypt-hash.ts';

/**
 * A route as it may be shown: its password hashes are replaced by marks that tell nothing of them but
 * whether two are the same. A route with marks is refused by every parser.
 */
export function redacted(route: RouteSpec): RouteSpec {
  if (route.basic_auth === null && route.handles.every(({ basic_auth }) => basic_auth === null)) return route;
  const handles = route.handles.map((handle) => ({ ...handle, basic_auth: withoutHashes(handle.basic_auth) }));
  return { ...route, basic_auth: withoutHashes(route.basic_auth), handles };
}

function withoutHashes(spec: BasicAuthSpec | null): BasicAuthSpec | null {
  return spec && { ...spec, users: spec.users.map(({ name, hash }) => ({ name, hash: markOf(hash) })) };
}

/** The hash is salted with 128 bits that nobody knows, so the beginning of its digest cannot be tried out either. */
const markOf = (hash: BcryptHash): BcryptHash => `redacted-${createHash('sha256').update(hash).digest('hex').slice(0, 12)}` as BcryptHash;
