import { DEFAULT_REALM } from '../../../../shared/policy/basic-auth/directive.ts';
import type { BasicAuthSpec } from '../../../../shared/route.ts';
import { parseBcryptHash } from '../../../../shared/values/bcrypt-hash.ts';
import { accepted, type Parsed, refused } from '../../../../shared/values/parsed.ts';
import { HTPASSWD_TYPE, type HtpasswdSecret } from '../objects/htpasswd-secret.ts';

/** A Secret of the same namespace, and the realm that browsers show. */
export type UsersRef = { readonly secret: string; readonly realm: string };

const FORM = /^([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)(?:\s+(.+))?$/s;
const REALM = /^[\x20-\x7e\x80-\xff]{1,256}$/;
const USER = /^[^\p{Cc}:]{1,256}$/u;
const MAX_USERS = 1_000;

/** Reads `SECRET [REALM]`. */
export function readUsersRef(text: string): Parsed<UsersRef> {
  const [, secret, realm = DEFAULT_REALM] = FORM.exec(text.trim()) ?? [];
  if (secret === undefined) return refused('it is the name of a Secret, and perhaps a realm');
  return REALM.test(realm) ? accepted({ secret, realm }) : refused('a realm must not contain control characters');
}

/** The users of a Secret in `namespace`. The reason for a refusal never contains a hash. */
export function usersOf(
  { secret, realm }: UsersRef,
  namespace: string,
  secrets: ReadonlyMap<string, HtpasswdSecret>,
): Parsed<BasicAuthSpec> {
  const name = `${namespace}/${secret}`;
  const found = secrets.get(name);
  if (found === undefined) return refused(`the Secret ${name} does not exist (its type must be ${HTPASSWD_TYPE})`);
  const users: BasicAuthSpec['users'] = [];
  for (const [at, line] of found.text.split('\n').entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const fault = (why: string) => refused(`the Secret ${name}, line ${at + 1} of auth: ${why}`);
    const colon = line.indexOf(':');
    const user = line.slice(0, Math.max(colon, 0));
    if (!USER.test(user)) return fault('a line is a user name, a colon and a hash');
    const hash = parseBcryptHash(line.slice(colon + 1).trim());
    if (!hash.ok) return fault(hash.reason);
    if (users.some((one) => one.name === user)) return fault('this user is in it twice');
    users.push({ name: user, hash: hash.value });
  }
  if (users.length === 0) return refused(`the Secret ${name} has no users in its key auth`);
  return users.length > MAX_USERS ? refused(`the Secret ${name} has more than ${MAX_USERS} users`) : accepted({ realm, users });
}
