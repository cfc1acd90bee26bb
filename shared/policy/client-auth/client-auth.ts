import * as z from 'zod';
import { MAX_AUTHORITIES_LENGTH, readClientAuthorities } from '../../certificates/client-authorities.ts';
import { portSchema } from '../../condition.ts';
import { MAX_PORTS } from '../../limits.ts';
import { CONFIG_FILE } from '../../name.ts';
import { localIpsSchema } from '../../values/local-ips-schema.ts';
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

const place = z
  .object({
    ports: z
      .array(portSchema)
      .min(1)
      .max(2 * MAX_PORTS)
      .optional()
      .describe('The ports that it applies to; all if absent.'),
    local_ips: localIpsSchema.optional().describe('The addresses of this machine that it applies to; all if absent.'),
    ca: authorities.nullable().describe('As in `client_auth`; null: no certificates are required there.'),
  })
  .meta({ title: 'client_auth_at', about: 'What clients must present at some ports and addresses, instead of what `client_auth` says.' });

const members = {
  client_auth: spec.nullable().optional().describe('Client certificates that are required; null or absent: none.'),
  client_auth_at: z
    .array(place)
    .min(1)
    .max(1_000)
    .nullable()
    .optional()
    .describe('Exceptions from it; the first entry for the port and address of a connection applies.'),
};

/** Its form as `client_ca` in the block of `tls`. */
export const clientAuth: PolicyDescription<typeof members> = {
  members,
  unknownLabels: {
    words: ['clientauth', 'clientca', 'clientcert', 'clientcertificate', 'mtls'],
    advice: `no label does this: configure the site in the ${CONFIG_FILE}, with tls { client_ca … }`,
  },
};
