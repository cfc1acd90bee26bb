import * as z from 'zod';
import { MAX_AUTHORITIES_LENGTH, readClientAuthorities } from '../../certificates/client-authorities.ts';
import { CONFIG_FILE } from '../../name.ts';
import type { PolicyDescription } from '../policy.ts';

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
    ca: authorities.describe('PEM: the roots that client certificates are verified with, and intermediates that clients need not send.'),
  })
  .meta({
    title: 'client_auth',
    about: 'Clients must present a certificate in the handshake. Requests without TLS get 403.',
  });

const members = {
  client_auth: spec.nullable().optional().describe('Client certificates that are required; null or absent: none.'),
};

/** Its form as `client_ca` in the block of `tls`. */
export const clientAuth: PolicyDescription<typeof members> = {
  members,
  unknownLabels: {
    words: ['clientauth', 'clientca', 'clientcert', 'clientcertificate', 'mtls'],
    advice: `no label does this: configure the site in the ${CONFIG_FILE}, with tls { client_ca … }`,
  },
};
