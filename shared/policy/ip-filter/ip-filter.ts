import { z } from 'zod';
import { rangeSchema } from '../../condition.ts';
import { CONFIG_FILE } from '../../name.ts';
import type { Policy } from '../policy.ts';
import { ipFilterDirective, MOST_RANGES } from './directive.ts';

const ranges = z.array(rangeSchema).min(1, 'at least one address or range').max(MOST_RANGES).optional();

const spec = z
  .object({
    allow: ranges.describe('Who comes in, and nobody else; everybody where it is left out.'),
    deny: ranges.describe('Who does not come in, also where `allow` has the address.'),
  })
  .refine(({ allow, deny }) => allow !== undefined || deny !== undefined, 'it has at least one of allow and deny')
  .meta({ title: 'ip_filter', about: 'Whose addresses come in. All others get 403.' });

const members = { ip_filter: spec.nullable().optional().describe('Whose addresses come in; null and absent are everybody.') };

export const ipFilter: Policy<typeof members> = {
  members,
  directive: ipFilterDirective,
  mislabelled: {
    words: [
      ...['ipfilter', 'ipallow', 'ipallowlist', 'ipwhitelist', 'ipdeny', 'ipblock', 'ipdenylist', 'ipblacklist', 'iprestrict'],
      ...['allow', 'allowlist', 'allowfrom', 'whitelist', 'deny', 'denylist', 'block', 'blocklist', 'blacklist', 'remoteip'],
    ],
    advice: `no label does that: give the site a block in the ${CONFIG_FILE}, with ip_filter`,
  },
  keepsOut: ({ ip_filter: filter }) => filter != null,
};
