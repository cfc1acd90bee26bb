import * as z from 'zod';
import { conditionSchema } from '../../condition.ts';
import { parseSeconds } from '../../values/duration.ts';
import type { PolicyDescription } from '../policy.ts';
import { cacheDirective, LONGEST_TTL, MAX_TTLS, USUAL_STATUSES } from './directive.ts';
import { keySchema } from './key.ts';

const secs = z.int().min(0).max(LONGEST_TTL);

const ttl = z
  .object({
    secs: secs.min(1).describe('Seconds for which such a response is fresh.'),
    statuses: z
      .array(z.int().min(200).max(599))
      .min(1)
      .max(100)
      .default(() => [...USUAL_STATUSES])
      .describe('The statuses of these responses.'),
  })
  .meta({ title: 'ttls', about: 'How long responses are fresh that say nothing about it themselves.' });

const spec = z
  .object({
    ttls: z
      .array(ttl)
      .min(1)
      .max(MAX_TTLS)
      .optional()
      .describe('For responses without a lifetime of their own; absent: only what the upstream allows.'),
    stale_while_revalidate_secs: secs
      .optional()
      .describe('Seconds for which a stale response is used while a new one is requested, unless the response says.'),
    stale_if_error_secs: secs
      .optional()
      .describe('Seconds for which a stale response is used if the upstream fails, unless the response says.'),
    key: keySchema.optional().describe('What decides which stored response a request gets; absent: its whole URL.'),
    bypass: conditionSchema.optional().describe('Requests that neither get stored responses nor have theirs stored.'),
  })
  .meta({
    title: 'cache',
    about:
      'Stores responses in memory as a shared cache (RFC 9111) and answers later requests from there. It needs a cache size in the settings.',
  });

export type CacheSpec = z.output<typeof spec>;

const members = {
  cache: z
    .preprocess((value) => (value === true || value === 'on' ? {} : value === false || value === 'off' ? null : value), spec.nullable())
    .optional()
    .describe(
      'Whether responses are cached: an object, or true for one without members; null and absent are no. A block without it has that of its site.',
    ),
};

export const cache: PolicyDescription<typeof members> = {
  members,
  directive: cacheDirective,
  labels: [
    {
      word: 'cache',
      form: 'on, off or <duration>',
      otherwise: 'off',
      example: 'on',
      read(value, part) {
        if (value === 'on' || value === 'off') {
          part.cache = value === 'on' ? {} : null;
          return undefined;
        }
        const time = parseSeconds(value, LONGEST_TTL);
        if (!time.ok || time.value === 0) return 'write on, off or a duration such as 10m';
        part.cache = { ttls: [{ secs: time.value, statuses: [...USUAL_STATUSES] }] };
        return undefined;
      },
    },
  ],
};
