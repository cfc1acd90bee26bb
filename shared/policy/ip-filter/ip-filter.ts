import { z } from 'zod';
import { rangeSchema } from '../../condition.ts';
import { CONFIG_FILE } from '../../name.ts';
import type { Policy } from '../policy.ts';
import { ipFilterDirective, MOST_RANGES } from './directive.ts';

const ranges = z.array(rangeSchema).min(1, 'at least one address or range').max(MOST_RANGES).optional();

const spec = z
  .object({
    allow: ranges.describe('The only addresses that are allowed; all if absent.'),
    deny: ranges.describe('Addresses that are denied, even if `allow` contains them.'),
  })
  .refine(({ allow, deny }) => allow !== undefined || deny !== undefined, 'at least one of allow and deny is required')
  .meta({ title: 'ip_filter', about: 'The client addresses that are allowed. All others get 403.' });

const members = { ip_filter: spec.nullable().optional().describe('The client addresses that are allowed; null or absent: all.') };

export const ipFilter: Policy<typeof members> = {
  members,
  directive: ipFilterDirective,
  unknownLabels: {
    words: [
      ...['ipfilter', 'ipallow', 'ipallowlist', 'ipwhitelist', 'ipdeny', 'ipblock', 'ipdenylist', 'ipblacklist', 'iprestrict'],
      ...['allow', 'allowlist', 'allowfrom', 'whitelist', 'deny', 'denylist', 'block', 'blocklist', 'blacklist', 'remoteip'],
    ],
    advice: `no label does this: configure the site in the ${CONFIG_FILE}, with ip_filter`,
  },
  restrictsAccess: ({ ip_filter: filter }) => filter != null,
};
