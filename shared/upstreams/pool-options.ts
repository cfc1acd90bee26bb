import * as z from 'zod';
import { balancingSchema } from '../balancing/balancing-schema.ts';
import {
  LONGEST_EJECTION_SECS,
  LONGEST_QUEUE_SECS,
  LONGEST_SLOW_START_SECS,
  MAX_FAILS,
  MAX_IN_FLIGHT,
  MAX_QUEUED,
  MAX_RETRIES,
  RETRIED_STATUS,
  USUAL_CIRCUIT_REQUESTS,
  USUAL_QUEUE_SECS,
} from '../limits.ts';
import { healthCheckSchema } from './health-check.ts';
import { transportSchema } from './transport-schema.ts';

/** Passive health checks: how responses and failures of ordinary requests affect a target. */
const passiveHealthSchema = z
  .object({
    max_fails: z
      .int()
      .min(0)
      .max(MAX_FAILS)
      .optional()
      .describe('Failures in a row that take a target out of rotation; 3 if absent, and 0 is never.'),
    fail_secs: z
      .int()
      .min(1)
      .max(LONGEST_EJECTION_SECS)
      .optional()
      .describe('Seconds that it stays out before a single request tries it again; 10 if absent.'),
    statuses: z
      .array(z.string().regex(RETRIED_STATUS, 'a status is three digits from 400, as in 503, or a class, as in 5xx'))
      .min(1)
      .max(20)
      .optional()
      .describe('Statuses of responses that count as failures, such as `503` or `5xx`; none if absent.'),
    error_percent: z
      .int()
      .min(1)
      .max(100)
      .optional()
      .describe(
        'The share of failed requests within ten seconds that takes a target out, in percent; absent: only failures in a row count.',
      ),
    error_requests: z
      .int()
      .min(1)
      .max(10_000)
      .optional()
      .describe(`Requests that one worker needs within that time to judge; ${USUAL_CIRCUIT_REQUESTS} if absent.`),
  })
  .meta({
    title: 'passive_health',
    about: 'When failed requests take a target out of rotation. The last target of a pool stays in rotation.',
  });

export type PassiveHealthSpec = Readonly<z.output<typeof passiveHealthSchema>>;

const concurrencySchema = z
  .object({
    requests: z.int().min(1).max(MAX_IN_FLIGHT).describe('Requests that a target gets at once, from all workers.'),
    queue: z.int().min(0).max(MAX_QUEUED).default(0).describe('Requests that may wait until a target is free, per worker.'),
    queue_secs: z.int().min(1).max(LONGEST_QUEUE_SECS).default(USUAL_QUEUE_SECS).describe('Seconds that they wait at most.'),
  })
  .meta({ title: 'max_in_flight', about: 'How many requests each target gets at once. More wait, or are answered with 503.' });

export type ConcurrencySpec = Readonly<z.output<typeof concurrencySchema>>;

/** The options of a pool besides its targets, for a site and for each of its path blocks. */
export const poolOptions = {
  /** A block that leaves it out uses its site's. */
  transport: transportSchema
    .nullable()
    .optional()
    .describe('How to connect to the targets; null is HTTP/1.1, and with TLS a certificate that the system trusts.'),
  /** A block with targets of its own that leaves it out uses round robin; one without uses its site's. */
  lb_policy: balancingSchema.nullable().optional().describe('How the target of a request is chosen; null is round robin.'),
  lb_retries: z
    .int()
    .min(0)
    .max(MAX_RETRIES)
    .nullable()
    .optional()
    .describe(
      'On how many other targets a request is tried after its first one has failed, where that is safe; null is 2. Targets that refuse the connection do not count.',
    ),
  lb_retry_statuses: z
    .array(z.int().min(400).max(599))
    .min(1)
    .max(20)
    .nullable()
    .optional()
    .describe('Statuses of responses after which another target is tried, where that is safe; null is none.'),
  lb_retry_budget: z
    .int()
    .min(0)
    .max(100)
    .nullable()
    .optional()
    .describe(
      'How many requests may be sent to a second target after a first one got them, in percent of recent requests and besides a thousand; null is 20.',
    ),
  passive_health: passiveHealthSchema
    .nullable()
    .optional()
    .describe('When failed requests take a target out of rotation; null is three failures in a row, for ten seconds.'),
  slow_start_secs: z
    .int()
    .min(0)
    .max(LONGEST_SLOW_START_SECS)
    .nullable()
    .optional()
    .describe('Seconds over which a target that enters the rotation gets more and more requests; null and 0 are all at once.'),
  max_in_flight: concurrencySchema.nullable().optional().describe('How many requests each target gets at once; null is any number.'),
  /** A block that leaves it out uses its site's. */
  health: healthCheckSchema.nullable().optional().describe('Active health checks; null disables them.'),
};

export type PoolOptions = { readonly [Member in keyof typeof poolOptions]?: z.output<(typeof poolOptions)[Member]> };
