import * as z from 'zod';
import { HEALTHY_STATUS, MAX_CONSECUTIVE } from '../limits.ts';
import { NOT_CONCEALED } from '../policy/concealed-text.ts';

/** Requests a page of its own from each target at regular intervals. Only a target that responds as expected is in rotation. */
export const healthCheckSchema = z
  .object({
    path: z
      .string()
      .max(2_048)
      .regex(/^\/[\x21-\x7e]*$/, 'a path must start with / and must not contain spaces')
      .refine(NOT_CONCEALED.accepts, NOT_CONCEALED.reason)
      .describe('Path and query to request with GET.'),
    interval_secs: z.int().min(1).max(3_600).default(10).describe('Seconds between checks.'),
    timeout_secs: z.int().min(1).max(60).default(5).describe('Seconds to wait for the response.'),
    status: z
      .string()
      .regex(HEALTHY_STATUS, 'a status is three digits, as in 200, or a class, as in 2xx')
      .optional()
      .describe('The status of a healthy response: `200`, or a class such as `2xx`. If absent, 2xx and 3xx are healthy.'),
    passes: z
      .int()
      .min(1)
      .max(MAX_CONSECUTIVE)
      .optional()
      .describe('How many checks in a row must pass before a target that has failed is in rotation again; 1 if absent.'),
    fails: z
      .int()
      .min(1)
      .max(MAX_CONSECUTIVE)
      .optional()
      .describe('How many checks in a row must fail before a target leaves the rotation; 2 if absent.'),
  })
  .meta({ title: 'health', about: 'An active health check: a page requested from each target at regular intervals.' });

export type HealthCheckSpec = Readonly<z.output<typeof healthCheckSchema>>;
