import * as z from 'zod';
import { rangeSchema } from '../../condition.ts';
import { CONFIG_FILE } from '../../name.ts';
import { parseCountry } from '../../values/country.ts';
import { readBy } from '../../values/read-by.ts';
import type { PolicyDescription } from '../policy.ts';
import { ipFilterDirective, MAX_COUNTRIES, MAX_RANGES } from './directive.ts';

const ranges = z.array(rangeSchema).min(1, 'at least one address or range').max(MAX_RANGES).optional();

const countries = z.array(readBy(parseCountry)).min(1, 'at least one country').max(MAX_COUNTRIES).optional();

const spec = z
  .object({
    allow: ranges.describe('Addresses that are allowed. With `allow` or `allow_countries`, no others are.'),
    deny: ranges.describe('Addresses that are denied, even if they are allowed otherwise.'),
    allow_countries: countries.describe('Countries whose addresses are allowed, by their two-letter codes (ISO 3166-1).'),
    deny_countries: countries.describe('Countries whose addresses are denied, except for addresses in `allow`.'),
  })
  .refine((lists) => Object.values(lists).some((list) => list !== undefined), 'at least one list is required')
  .meta({ title: 'ip_filter', about: 'The client addresses that are allowed. All others get 403.' });

const members = { ip_filter: spec.nullable().optional().describe('The client addresses that are allowed; null or absent: all.') };

export const ipFilter: PolicyDescription<typeof members> = {
  members,
  directive: ipFilterDirective,
  unknownLabels: {
    words: [
      ...[
        'ipfilter',
        'country',
        'countries',
        'geoip',
        'geoblock',
        'ipallow',
        'ipallowlist',
        'ipwhitelist',
        'ipdeny',
        'ipblock',
        'ipdenylist',
        'ipblacklist',
        'iprestrict',
      ],
      ...['allow', 'allowlist', 'allowfrom', 'whitelist', 'deny', 'denylist', 'block', 'blocklist', 'blacklist', 'remoteip'],
    ],
    advice: `no label does this: configure the site in the ${CONFIG_FILE}, with ip_filter`,
  },
  restrictsAccess: ({ ip_filter: filter }) => filter != null,
};
