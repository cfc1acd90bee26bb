import * as z from 'zod';
import { conditionSchema } from '../../condition.ts';
import { LABEL_PREFIX } from '../../name.ts';
import { MAX_RATE, parseRate } from '../../values/rate.ts';
import { TOKEN } from '../../values/token.ts';
import type { PolicyDescription } from '../policy.ts';
import { MAX_LIMITS, rateLimitDirective } from './directive.ts';
import { faultOfRateKey, LONGEST_KEY } from './key.ts';
import type { Limit } from './rate-of.ts';

const requests = z.int().min(1).max(MAX_RATE);
const limits = {
  rps: requests.optional().describe('Requests per second. Exactly one of `rps`, `rpm` and `rph` is required.'),
  rpm: requests.optional().describe('Requests per minute.'),
  rph: requests.optional().describe('Requests per hour.'),
};

const isOne = ({ rps, rpm, rph }: Limit): boolean => [rps, rpm, rph].filter((limit) => limit !== undefined).length === 1;

const limit = z
  .object({
    ...limits,
    header: z
      .string()
      .max(256)
      .regex(TOKEN, 'a header name consists of letters, digits and hyphens')
      .optional()
      .describe('Counts the requests with the same value of this field together, instead of those of the same client address.'),
    key: z
      .string()
      .max(LONGEST_KEY)
      .superRefine((text, issues) => {
        const message = faultOfRateKey(text);
        if (message !== undefined) issues.addIssue({ code: 'custom', message });
      })
      .optional()
      .describe('Counts the requests with the same value of this text with placeholders together. Not with `header`.'),
    match: conditionSchema.optional().describe('The requests that it counts; all if absent.'),
  })
  .refine(isOne, 'exactly one of rps, rpm and rph is required')
  .refine(({ header, key }) => header === undefined || key === undefined, 'a limit has a header or a key, not both')
  .meta({ title: 'rate_limits', about: 'A limit per second, minute or hour, in addition to `rate_limit_rps`.' });

const members = {
  rate_limit_rps: requests.nullable().default(null).describe('Requests per second and client address; null is no limit.'),
  rate_limits: z.array(limit).max(MAX_LIMITS).optional().describe('Rate limits for some requests, or per minute or hour.'),
};

export const rateLimit: PolicyDescription<typeof members> = {
  members,
  directive: rateLimitDirective,
  labels: [
    {
      word: 'rate_limit',
      form: '<n>/s|m|h',
      otherwise: 'no limit',
      example: '10/s',
      read(value, part) {
        const rate = parseRate(value);
        if (!rate.ok) return rate.reason;
        const { requests: count, period } = rate.value;
        if (period === 'second') part.rate_limit_rps = count;
        else part.rate_limits = [period === 'minute' ? { rpm: count } : { rph: count }];
        return undefined;
      },
    },
  ],
  unknownLabels: {
    words: ['ratelimit', 'ratelimits', 'ratelimiting', 'limit', 'limits', 'limitreq', 'throttle'],
    advice: `write ${LABEL_PREFIX}rate_limit=<n>/s`,
  },
};
