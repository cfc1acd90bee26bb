import * as z from 'zod';
import { CONFIG_FILE } from '../../name.ts';
import { NAME_TOKEN } from '../../values/token.ts';
import { COPIED_TWICE, COPYABLE, faultOfCopied } from '../forward-auth/directive.ts';
import type { PolicyDescription } from '../policy.ts';
import { DEFAULT_SKEW_SECS, jwtDirective, MAX_SKEW_SECS, MAX_VALUES, QUERY_NAME, TEXT } from './directive.ts';
import { faultOfSource, LONGEST_URL } from './key-source.ts';
import { faultOfKey, faultOfKeys, LONGEST_KID, LONGEST_PEM, MAX_KEYS } from './keys.ts';

const text = z.string().regex(TEXT.pattern, TEXT.reason);

const key = z
  .object({
    pem: z.string().max(LONGEST_PEM).describe('The public key: RSA of at least 2048 bits, P-256, P-384, P-521 or Ed25519.'),
    kid: z
      .string()
      .min(1)
      .max(LONGEST_KID)
      .optional()
      .describe('Its identifier; absent: it is tried for tokens whose `kid` no other key has.'),
    alg: z.string().optional().describe('The only algorithm that it verifies; absent: every algorithm of its type.'),
  })
  .superRefine((value, issues) => {
    const message = faultOfKey(value);
    if (message !== undefined) issues.addIssue({ code: 'custom', message });
  })
  .meta({ title: 'keys', about: 'A public key that verifies tokens.' });

const required = z
  .object({
    claim: text.describe('A claim that the token must have; dots lead into objects.'),
    values: z.array(text).max(MAX_VALUES).default([]).describe('One of these must be its value or an element of it; empty: any value.'),
  })
  .meta({ title: 'require', about: 'A claim without which a valid token is answered with 403.' });

const copied = z
  .object({
    claim: text.describe('The claim; dots lead into objects.'),
    to: z
      .string()
      .regex(NAME_TOKEN, 'a header name consists of letters, digits and hyphens')
      .refine(COPYABLE.accepts, COPYABLE.reason)
      .describe('The field of the request to the upstream.'),
  })
  .meta({ title: 'copy_claims', about: 'A field that the upstream gets from the token, and never from the client.' });

const place = z
  .object({
    kind: z.enum(['header', 'cookie', 'query']).describe('`header`: `Authorization: Bearer`.'),
    name: z.string().optional().describe('The name of the cookie or of the query parameter.'),
  })
  .superRefine(({ kind, name }, issues) => {
    const isGood =
      kind === 'header' ? name === undefined : name !== undefined && (kind === 'cookie' ? NAME_TOKEN : QUERY_NAME.pattern).test(name);
    if (!isGood)
      issues.addIssue({ code: 'custom', message: kind === 'query' ? QUERY_NAME.reason : 'only a cookie has a name, and needs one' });
  })
  .meta({ title: 'from', about: 'Where a token may be.' });

const source = z
  .object({
    url: z.string().max(LONGEST_URL).describe('The URL of a JWKS.'),
    private: z.boolean().default(false).describe('Whether it may be `http://`; then only loopback and private addresses are connected.'),
  })
  .superRefine((value, issues) => {
    const message = faultOfSource(value);
    if (message !== undefined) issues.addIssue({ code: 'custom', message });
  })
  .meta({ title: 'key_source', about: 'Fetches the keys that verify tokens.' });

const spec = z
  .object({
    keys: z
      .array(key)
      .min(1)
      .max(MAX_KEYS)
      .superRefine((keys, issues) => {
        const message = faultOfKeys(keys);
        if (message !== undefined) issues.addIssue({ code: 'custom', message });
      })
      .optional()
      .describe('The keys, one of which must have signed the token. Exactly one of `keys` and `key_source` is required.'),
    key_source: source.optional().describe('Where the keys are fetched.'),
    issuers: z.array(text).max(MAX_VALUES).default([]).describe('`iss` must be one of these; empty: it is not checked.'),
    audiences: z.array(text).max(MAX_VALUES).default([]).describe('`aud` must contain one of these; empty: it is not checked.'),
    require: z.array(required).max(MAX_VALUES).default([]).describe('Claims that the token must have.'),
    copy_claims: z
      .array(copied)
      .max(MAX_VALUES)
      .refine((list) => faultOfCopied(list) === undefined, COPIED_TWICE)
      .default([])
      .describe('Claims that are copied to the request.'),
    from: z
      .array(place)
      .min(1)
      .max(MAX_VALUES)
      .default([{ kind: 'header' }])
      .describe('Where the token may be.'),
    clock_skew_secs: z
      .int()
      .min(0)
      .max(MAX_SKEW_SECS)
      .default(DEFAULT_SKEW_SECS)
      .describe('Seconds by which the clocks of issuer and proxy may differ.'),
  })
  .refine(({ keys, key_source }) => (keys === undefined) !== (key_source === undefined), 'exactly one of keys and key_source is required')
  .meta({ title: 'jwt', about: 'Requires a signed token (RFC 7519).' });

const members = { jwt: spec.nullable().optional().describe('Requires a signed token; null or absent: none.') };

export const jwt: PolicyDescription<typeof members> = {
  members,
  directive: jwtDirective,
  unknownLabels: {
    words: ['jwt', 'jwks', 'jwtauth', 'authjwt', 'bearer', 'bearertoken'],
    advice: `no label does this: configure the site in the ${CONFIG_FILE}, with jwt`,
  },
  restrictsAccess: ({ jwt: spec }) => spec != null,
};
