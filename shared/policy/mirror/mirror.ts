import { z } from 'zod';
import { conditionSchema } from '../../condition.ts';
import { CONFIG_FILE } from '../../name.ts';
import { parseUpstream } from '../../values/address.ts';
import { readBy } from '../../values/read-by.ts';
import type { Policy } from '../policy.ts';
import { mirrorDirective } from './directive.ts';

const spec = z
  .object({
    upstream: readBy(parseUpstream).describe('The address that gets the copies.'),
    tls: z.boolean().default(false).describe('Whether the proxy connects to it over TLS.'),
    percent: z.int().min(1).max(100).default(100).describe('The share of requests that are copied, in percent.'),
    match: conditionSchema.optional().describe('Requests that may be copied; all if absent.'),
  })
  .meta({ title: 'mirror', about: 'Sends copies of requests to another upstream, whose responses are thrown away.' });

const members = {
  mirror: spec.nullable().optional().describe('Sends copies of requests to another upstream; null or absent: none.'),
};

export const mirror: Policy<typeof members> = {
  members,
  directive: mirrorDirective,
  unknownLabels: {
    words: ['mirror', 'mirroring', 'shadow'],
    advice: `no label does this: configure the site in the ${CONFIG_FILE}, with mirror`,
  },
};
