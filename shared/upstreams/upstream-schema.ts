import * as z from 'zod';
import { MAX_TARGETS, MAX_WEIGHT } from '../limits.ts';
import { parseUpstream } from '../values/address.ts';
import { readBy } from '../values/read-by.ts';

const address = readBy(parseUpstream);

/**
 * `draining` targets finish their requests and get no new ones. `starting`, `unhealthy` and `paused` targets are out of rotation;
 * requests already waiting on a `paused` target are sent elsewhere if possible, since it does not respond.
 */
const TARGET_STATES = ['healthy', 'starting', 'unhealthy', 'draining', 'paused'] as const;

/** A target of a pool. */
const upstreamSchema = z
  .object({
    address: address.describe(
      '`host:port`; an IPv6 address is in brackets. Or `unix/` and the absolute path of a socket: `unix//run/app.sock`.',
    ),
    /**
     * A stable name of the target at its source (a container id …), by which runtime state survives changes. An address with an id may
     * belong to something else later.
     */
    id: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .describe('A stable name for the target, whose address may change or be reassigned to another target.'),
    weight: z.int().min(0).max(MAX_WEIGHT).default(1).describe('Its share of the requests relative to the other targets; 0 gets none.'),
    state: z
      .enum(TARGET_STATES)
      .default('healthy')
      .describe(
        'Only `healthy` targets get requests. A `draining` target finishes its requests, and gets new ones only if no other target is left and requests are not held. Targets in other states get none until the state improves.',
      ),
    probe: z
      .boolean()
      .optional()
      .describe(
        'Whether a `starting` target enters rotation by itself, once a connection to it has stayed open for 100 ms or it passes its health check.',
      ),
  })
  .meta({ title: 'upstream', about: 'One target of a pool. Requests are distributed round-robin, unless `lb_policy` says otherwise.' });

/** The targets of a pool. */
export const upstreamsSchema = z.array(upstreamSchema).max(MAX_TARGETS).default([]).describe('The targets of the pool.');
