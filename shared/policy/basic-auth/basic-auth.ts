import { createHash } from 'node:crypto';
import * as z from 'zod';
import { CONFIG_FILE } from '../../name.ts';
import { type BcryptHash, parseBcryptHash } from '../../values/bcrypt-hash.ts';
import { readBy } from '../../values/read-by.ts';
import type { PolicyDescription } from '../policy.ts';
import { basicAuthDirective, DEFAULT_REALM } from './directive.ts';

/** The user name ends at the first colon of the credentials, so it cannot contain one (RFC 7617 2). */
const userName = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[^\p{Cc}:]+$/u, 'a user name must not contain a colon or control characters');

const passwordHash = readBy(parseBcryptHash);

const user = z
  .object({
    name: userName.describe('The user name, without colons and control characters.'),
    hash: passwordHash.describe('A bcrypt hash, `$2a$`, `$2b$` or `$2y$`, with a cost from 4 to 16.'),
  })
  .meta({ title: 'users', about: 'One user. Responses show a mark instead of the hash, the same for equal hashes.' });

/** The users and the realm. */
const spec = z
  .object({
    realm: z
      .string()
      .max(256)
      .regex(/^[\x20-\x7e\x80-\xff]*$/, 'a realm must not contain control characters')
      .default(DEFAULT_REALM)
      .describe('The realm that a browser shows in its prompt.'),
    users: z
      .array(user)
      .min(1, 'at least one user')
      .max(1_000)
      .refine((users) => new Set(users.map(({ name }) => name)).size === users.length, 'each user may appear only once')
      .describe('At least one; each name may appear only once.'),
  })
  .meta({ title: 'basic_auth', about: 'Users and passwords (RFC 7617).' });

const members = { basic_auth: spec.nullable().default(null).describe('Basic authentication; null disables it.') };

export const basicAuth: PolicyDescription<typeof members> = {
  members,
  directive: basicAuthDirective,
  unknownLabels: {
    words: [
      ...['basicauth', 'basicauthentication', 'auth', 'authentication', 'authorization', 'authorize', 'password', 'passwords'],
      ...['users', 'htpasswd', 'digestauth', 'login', 'private', 'protect', 'protected', 'require', 'secure'],
    ],
    advice: `labels cannot contain passwords: configure the site in the ${CONFIG_FILE}, with basic_auth`,
  },
  concealed: ({ basic_auth: auth }) =>
    auth ? { basic_auth: { ...auth, users: auth.users.map(({ name, hash }) => ({ name, hash: markOf(hash) })) } } : null,
  restrictsAccess: ({ basic_auth: auth }) => auth != null,
};

/**
 * A placeholder that reveals only whether two hashes are equal, and that every parser rejects. Each hash has a secret 128-bit salt, so the
 * mark cannot be used to guess passwords either.
 */
const markOf = (hash: BcryptHash): BcryptHash => `redacted-${createHash('sha256').update(hash).digest('hex').slice(0, 12)}` as BcryptHash;
