import * as z from 'zod';
import { conditionSchema } from '../../condition.ts';
import { CONFIG_FILE } from '../../name.ts';
import { MAX_PARTS } from '../../share.ts';
import { transportSchema } from '../../upstreams/transport-schema.ts';
import { upstreamsSchema } from '../../upstreams/upstream-schema.ts';
import { parseUpstream } from '../../values/address.ts';
import { readBy } from '../../values/read-by.ts';
import type { PolicyDescription } from '../policy.ts';
import { MAX_MIRRORS, mirrorDirective } from './directive.ts';

const spec = z
  .object({
    upstream: readBy(parseUpstream).describe('The address that gets the copies.'),
    tls: z.boolean().default(false).describe('Whether the proxy connects to it over TLS.'),
    percent: z.int().min(1).max(100).default(100).describe('The share of requests that are copied, in percent.'),
    match: conditionSchema.optional().describe('Requests that may be copied; all if absent.'),
  })
  .meta({ title: 'mirror', about: 'Sends copies of requests to another upstream, whose responses are thrown away.' });

const several = z
  .object({
    upstreams: upstreamsSchema,
    tls: z.boolean().default(false).describe('Whether the proxy connects to them over TLS.'),
    transport: transportSchema.nullable().optional().describe('How to connect to them; null is HTTP/1.1.'),
    fraction: z
      .object({
        numerator: z.int().min(0).max(MAX_PARTS).describe('How many requests are copied,'),
        denominator: z.int().min(1).max(MAX_PARTS).default(100).describe('of so many.'),
      })
      .refine(({ numerator, denominator }) => numerator <= denominator, 'a fraction is at most one')
      .meta({ title: 'mirrors.fraction', about: 'The share of requests that are copied.' })
      .optional()
      .describe('The share of requests that are copied; all if absent.'),
    match: conditionSchema.optional().describe('Requests that may be copied; all if absent.'),
  })
  .meta({ title: 'mirrors', about: 'One of several mirrors, with a pool of its own. Each decides for itself which requests it gets.' });

const members = {
  mirror: spec.nullable().optional().describe('Sends copies of requests to another upstream; null or absent: none.'),
  mirrors: z
    .array(several)
    .max(MAX_MIRRORS)
    .nullable()
    .optional()
    .describe('Sends copies of requests to further upstreams. A block with `mirror` or `mirrors` has neither of its site.'),
};

export const mirror: PolicyDescription<typeof members> = {
  members,
  directive: mirrorDirective,
  unknownLabels: {
    words: ['mirror', 'mirroring', 'shadow'],
    advice: `no label does this: configure the site in the ${CONFIG_FILE}, with mirror`,
  },
};
