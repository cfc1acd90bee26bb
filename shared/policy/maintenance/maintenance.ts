import * as z from 'zod';
import { conditionSchema } from '../../condition.ts';
import type { PolicyDescription } from '../policy.ts';
import { DEFAULT_RETRY_AFTER_SECS, LONGEST_PAGE, MAX_RETRY_AFTER_SECS, maintenanceDirective } from './directive.ts';

const spec = z
  .object({
    on: z.boolean().default(true).describe('Whether it is on. In a handle, false exempts it from the maintenance of its site.'),
    retry_after_secs: z
      .int()
      .min(0)
      .max(MAX_RETRY_AFTER_SECS)
      .optional()
      .describe(`Seconds after which clients should try again; ${DEFAULT_RETRY_AFTER_SECS} if absent.`),
    page: z.string().max(LONGEST_PAGE).optional().describe('HTML; if absent, the page of `handle_errors` for 503.'),
    match: conditionSchema.optional().describe('Requests that it applies to; all if absent.'),
  })
  .meta({ title: 'maintenance', about: 'Answers requests with 503 and Retry-After.' });

const SWITCH: ReadonlyMap<unknown, object> = new Map<unknown, object>([
  [true, { on: true }],
  ['on', { on: true }],
  [false, { on: false }],
  ['off', { on: false }],
]);

const members = {
  maintenance: z
    .preprocess((value) => SWITCH.get(value) ?? value, spec.nullable())
    .optional()
    .describe('Answers with 503: an object, or true for one without members; null, false and absent are no.'),
};

export const maintenance: PolicyDescription<typeof members> = {
  members,
  directive: maintenanceDirective,
  labels: [
    {
      word: 'maintenance',
      form: 'on or off',
      otherwise: 'off',
      example: 'on',
      read(value, part) {
        if (value !== 'on' && value !== 'off') return 'write on or off';
        part.maintenance = { on: value === 'on' };
        return undefined;
      },
    },
  ],
};
