import * as z from 'zod';
import { LABEL_PREFIX } from '../../name.ts';
import { readBy } from '../../values/read-by.ts';
import { TOKEN } from '../../values/token.ts';
import type { PolicyDescription } from '../policy.ts';
import { corsDirective, DEFAULTS, MAX_AGE_SECS, MAX_NAMES } from './directive.ts';
import { ANY_ORIGIN, parseOrigin } from './origin.ts';

const names = (what: string) => z.array(z.string().max(256).regex(TOKEN, `${what} consists of letters, digits and hyphens`)).max(MAX_NAMES);

const spec = z
  .object({
    origins: z
      .array(readBy(parseOrigin))
      .min(1)
      .max(MAX_NAMES)
      .describe(
        'The origins whose pages may use the site, such as `https://app.example.com` or `https://*.example.com`; `https://*` is any host, and `*` any origin.',
      ),
    wildcard: z
      .enum(['one', 'many'])
      .optional()
      .describe('How many labels `*.` in an origin stands for: exactly `one` if absent, or `many` for one or more.'),
    methods: names('a method')
      .min(1)
      .default([...DEFAULTS.methods])
      .describe('The methods that they may use; `*` is any.'),
    headers: names('a header name')
      .default([...DEFAULTS.headers])
      .describe('The request headers that they may set; `*` is any.'),
    expose: names('a header name').default([]).describe('The response headers that they may read, beyond the safelisted ones.'),
    credentials: z.boolean().default(false).describe('Whether they may send cookies and passwords.'),
    max_age_secs: z
      .int()
      .min(0)
      .max(MAX_AGE_SECS)
      .default(DEFAULTS.maxAgeSecs)
      .describe('Seconds for which a browser may remember a preflight.'),
  })
  .refine(({ origins, credentials }) => !credentials || !origins.includes(ANY_ORIGIN), 'credentials can’t be allowed to every origin')
  .meta({ title: 'cors', about: 'Which pages of other origins may use the site (CORS).' });

const members = {
  cors: spec.nullable().optional().describe('Which pages of other origins may use the site; null or absent: the upstream decides.'),
};

export const cors: PolicyDescription<typeof members> = {
  members,
  directive: corsDirective,
  labels: [
    {
      word: 'cors',
      form: '<origin> …',
      otherwise: 'the app decides',
      example: 'https://app.example.com',
      read(value, part) {
        const origins: string[] = [];
        for (const text of value.split(/[\s,]+/).filter(Boolean)) {
          const origin = parseOrigin(text);
          if (!origin.ok) return origin.reason;
          origins.push(origin.value);
        }
        if (origins.length === 0) return 'it names no origin';
        const { methods, headers, maxAgeSecs } = DEFAULTS;
        part.cors = { origins, methods: [...methods], headers: [...headers], expose: [], credentials: false, max_age_secs: maxAgeSecs };
        return undefined;
      },
    },
  ],
  unknownLabels: { words: ['accesscontrol', 'crossorigin', 'alloworigin'], advice: `write ${LABEL_PREFIX}cors=<origin>` },
};
