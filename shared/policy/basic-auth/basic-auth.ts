import { createHash } from 'node:crypto';
import { z } from 'zod';
import { CONFIG_FILE } from '../../name.ts';
import { DEFAULT_REALM } from '../../realm.ts';
import { type BcryptHash, parseBcryptHash } from '../../values/bcrypt-hash.ts';
import type { Policy } from '../policy.ts';
import { basicAuthDirective } from './directive.ts';

/** A name before the first colon of the credentials, so it has none itself (RFC 7617 2). */
const userName = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[^\p{Cc}:]+$/u, 'a user name has no colon and no control characters');

const passwordHash = z.string().transform((text, issues) => {
  const hash = parseBcryptHash(text);
  if (hash.ok) return hash.value;
  issues.addIssue({ code: 'custom', message: hash.reason });
  return z.NEVER;
});

const user = z
  .object({
    name: userName.describe('Without colon and control characters.'),
    hash: passwordHash.describe('A bcrypt hash, `$2a$`, `$2b$` or `$2y$`, with a cost from 4 to 16.'),
  })
  .meta({ title: 'users', about: 'One of them. Answers show a mark in place of the hash, the same for the same hash.' });

/** Who may come in, and under which name the browser asks for it. */
const spec = z
  .object({
    realm: z
      .string()
      .max(256)
      .regex(/^[\x20-\x7e\x80-\xff]*$/, 'a realm has no control characters')
      .default(DEFAULT_REALM)
      .describe('What a browser shows when it asks.'),
    users: z
      .array(user)
      .min(1, 'at least one user')
      .max(1_000)
      .refine((users) => new Set(users.map(({ name }) => name)).size === users.length, 'each user stands once')
      .describe('At least one; each name stands once.'),
  })
  .meta({ title: 'basic_auth', about: 'Who may come in (RFC 7617).' });

const members = { basic_auth: spec.nullable().default(null).describe('Passwords; null is none.') };

export const basicAuth: Policy<typeof members> = {
  members,
  directive: basicAuthDirective,
  mislabelled: {
    words: [
      ...['basicauth', 'basicauthentication', 'auth', 'authentication', 'authorization', 'authorize', 'password', 'passwords'],
      ...['users', 'htpasswd', 'digestauth', 'login', 'private', 'protect', 'protected', 'require', 'secure'],
    ],
    advice: `labels carry no passwords: give the site a block in the ${CONFIG_FILE}, with basic_auth`,
  },
  concealed: ({ basic_auth: auth }) =>
    auth ? { basic_auth: { ...auth, users: auth.users.map(({ name, hash }) => ({ name, hash: markOf(hash) })) } } : null,
  keepsOut: ({ basic_auth: auth }) => auth != null,
};

/**
 * Tells nothing of a hash but whether two are the same, and is refused by every parser. The hash is salted with 128 bits
 * that nobody knows, so the beginning of its digest cannot be tried out either.
 */
const markOf = (hash: BcryptHash): BcryptHash => `redacted-${createHash('sha256').update(hash).digest('hex').slice(0, 12)}` as BcryptHash;
