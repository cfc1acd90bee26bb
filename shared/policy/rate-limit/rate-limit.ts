import { z } from 'zod';
import { conditionSchema } from '../../condition.ts';
import { LABEL_PREFIX } from '../../name.ts';
import { MAX_RATE_PER_SECOND, parseRate } from '../../values/rate.ts';
import type { Policy } from '../policy.ts';
import { rateLimitDirective } from './directive.ts';

const rate = z.int().min(1).max(MAX_RATE_PER_SECOND);

const members = {
  rate_limit_rps: rate.nullable().default(null).describe('Requests per second and client address; null is no limit.'),
  rate_limits: z
    .array(
      z
        .object({
          rps: rate.describe('Requests per second and client address.'),
          match: conditionSchema.describe('The requests that it counts.'),
        })
        .meta({ title: 'rate_limits', about: 'A limit for some requests, in addition to the one for all.' }),
    )
    .max(100)
    .optional()
    .describe('Rate limits for some requests.'),
};

export const rateLimit: Policy<typeof members> = {
  members,
  directive: rateLimitDirective,
  labels: [
    {
      word: 'rate_limit',
      form: '<n>/s',
      otherwise: 'no limit',
      example: '10/s',
      read(value, part) {
        const parsed = parseRate(value);
        if (!parsed.ok) return parsed.reason;
        part.rate_limit_rps = parsed.value;
        return undefined;
      },
    },
  ],
  unknownLabels: {
    words: ['ratelimit', 'ratelimits', 'ratelimiting', 'limit', 'limits', 'limitreq', 'throttle'],
    advice: `write ${LABEL_PREFIX}rate_limit=<n>/s`,
  },
};
