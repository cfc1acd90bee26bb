import { z } from 'zod';
import { CONFIG_FILE } from '../../name.ts';
import { parseUpstream } from '../../values/address.ts';
import { readBy } from '../../values/read-by.ts';
import type { Policy } from '../policy.ts';
import {
  COPYABLE,
  DEFAULT_TIMEOUT_SECS,
  FIELD_NAME,
  forwardAuthDirective,
  MAX_TIMEOUT_SECS,
  MOST_COPIED,
  MOST_UPSTREAMS,
  URI,
} from './directive.ts';

const fieldName = z
  .string()
  .regex(FIELD_NAME, 'a header name consists of letters, digits and hyphens')
  .refine(COPYABLE.accepts, COPYABLE.reason);

const copied = z
  .object({
    from: fieldName.describe('The field of the authentication server’s response.'),
    to: fieldName.describe('The field of the request to the upstream.'),
  })
  .meta({ title: 'copy_headers', about: 'A field that the upstream gets from the authentication server, and never from the client.' });

const spec = z
  .object({
    upstreams: z.array(readBy(parseUpstream)).min(1).max(MOST_UPSTREAMS).describe('The addresses of the authentication server.'),
    tls: z.boolean().default(false).describe('Whether the proxy connects to it over TLS.'),
    uri: z.string().max(2_048).regex(URI.pattern, URI.reason).describe('The path, and perhaps a query, that is requested there.'),
    copy_headers: z.array(copied).max(MOST_COPIED).default([]).describe('Fields that are copied to the request if it is allowed.'),
    timeout_secs: z
      .int()
      .min(1)
      .max(MAX_TIMEOUT_SECS)
      .default(DEFAULT_TIMEOUT_SECS)
      .describe('Seconds to wait for the response to begin, and between two parts of it.'),
  })
  .meta({ title: 'forward_auth', about: 'Asks an authentication server about each request.' });

const members = {
  forward_auth: spec.nullable().optional().describe('Asks an authentication server about each request; null or absent: none.'),
};

export const forwardAuth: Policy<typeof members> = {
  members,
  directive: forwardAuthDirective,
  unknownLabels: {
    words: ['forwardauth', 'authrequest', 'oidc', 'oauth', 'oauth2', 'sso'],
    advice: `no label does this: configure the site in the ${CONFIG_FILE}, with forward_auth`,
  },
  restrictsAccess: ({ forward_auth: auth }) => auth != null,
};
