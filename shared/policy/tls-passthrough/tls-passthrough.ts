import * as z from 'zod';
import { balancingSchema } from '../../balancing/balancing-schema.ts';
import { portSchema } from '../../condition.ts';
import { LONGEST_PASSTHROUGH_IDLE_SECS, MAX_PORTS, USUAL_PASSTHROUGH_IDLE_SECS } from '../../limits.ts';
import { CONFIG_FILE } from '../../name.ts';
import { poolOptions } from '../../upstreams/pool-options.ts';
import { upstreamsSchema } from '../../upstreams/upstream-schema.ts';
import { localIpsSchema } from '../../values/local-ips-schema.ts';
import type { PolicyDescription } from '../policy.ts';
import { passthroughDirective } from './directive.ts';

/** A connection that is passed through has no requests, so it can't have policies that depend on one. */
const OF_REQUESTS: ReadonlySet<string> = new Set(['uri_hash', 'header', 'query', 'cookie']);

const spec = z
  .object({
    ports: z
      .array(portSchema)
      .min(1)
      .max(MAX_PORTS)
      .optional()
      .describe('The HTTPS ports that it applies to; if absent, those that the route is served on.'),
    local_ips: localIpsSchema.optional().describe('The addresses of this machine that it applies to; all if absent.'),
    upstreams: upstreamsSchema,
    lb_policy: balancingSchema
      .refine(({ policy }) => !OF_REQUESTS.has(policy), 'a connection that is passed through has no path, header or cookie to choose by')
      .nullable()
      .optional()
      .describe('How the target of a connection is chosen; null is round robin.'),
    lb_retries: poolOptions.lb_retries.describe(
      'On how many other targets a connection is tried after its first one has refused it; null is 2.',
    ),
    passive_health: poolOptions.passive_health.describe(
      'When refused connections take a target out of rotation; null is three in a row, for ten seconds.',
    ),
    proxy_protocol: z
      .enum(['v1', 'v2'])
      .nullable()
      .optional()
      .describe('Whether connections to targets begin with a PROXY header that names the client, and of which version.'),
    idle_timeout_secs: z
      .int()
      .min(1)
      .max(LONGEST_PASSTHROUGH_IDLE_SECS)
      .default(USUAL_PASSTHROUGH_IDLE_SECS)
      .describe('Seconds without a byte in either direction after which a connection is closed.'),
  })
  .meta({
    title: 'tls_passthrough',
    about: 'TLS connections that name the host of the route are passed on to a target as they are, instead of ending here.',
  });

const members = {
  tls_passthrough: z
    .array(spec)
    .min(1)
    .max(MAX_PORTS)
    .nullable()
    .optional()
    .describe('Where TLS connections for the host are passed on to without being decrypted; the first entry for a port applies.'),
};

export const tlsPassthrough: PolicyDescription<typeof members> = {
  members,
  directive: passthroughDirective,
  unknownLabels: {
    words: ['tlspassthrough', 'passthrough', 'sslpassthrough'],
    advice: `no label does this: configure the site in the ${CONFIG_FILE}, with tls_passthrough`,
  },
};
