import { z } from 'zod';
import { MAX_AUTHORITIES_LENGTH, readClientAuthorities } from '../../certificates/client-authorities.ts';
import { CONFIG_FILE } from '../../name.ts';
import type { Policy } from '../policy.ts';

const authorities = z
  .string()
  .max(MAX_AUTHORITIES_LENGTH)
  .transform((text, issues) => {
    const parsed = readClientAuthorities(text);
    if (parsed.ok) return parsed.value.text;
    issues.addIssue({ code: 'custom', message: parsed.reason });
    return z.NEVER;
  });

const spec = z
  .object({
    ca: authorities.describe('PEM: the roots that vouch for visitors, and what clients may leave out between those and their own.'),
  })
  .meta({
    title: 'client_auth',
    about: 'Visitors show a certificate of their own in the handshake, or are not served. Without TLS there is nobody to show it to: 403.',
  });

const members = {
  client_auth: spec.nullable().optional().describe('What visitors have to show before they are served; null and absent are nothing.'),
};

/** Written as `client_ca` in the block of `tls`. */
export const clientAuth: Policy<typeof members> = {
  members,
  mislabelled: {
    words: ['clientauth', 'clientca', 'clientcert', 'clientcertificate', 'mtls'],
    advice: `no label does that: give the site a block in the ${CONFIG_FILE}, with tls { client_ca … }`,
  },
};
