import * as z from 'zod';
import { CONFIG_FILE } from '../../name.ts';
import { readBy } from '../../values/read-by.ts';
import type { PolicyDescription } from '../policy.ts';
import { DEFAULT_MINIMUM, encodeDirective, MAX_LINES, MAX_MINIMUM } from './directive.ts';
import { FORMATS, type Format, type FormatName, MAX_LEVEL, parseTypePattern } from './formats.ts';

const format = z
  .object({
    name: z.enum(FORMATS).describe('The content coding.'),
    level: z.int().min(1).max(9).optional().describe('1 to 9 for zstd (3 if absent), 1 to 6 for br (4), 1 to 9 for gzip (5).'),
  })
  .refine(({ name, level = 1 }) => level <= MAX_LEVEL[name], 'br has levels from 1 to 6')
  .meta({ title: 'formats', about: 'A format of `encode`.' });

const isUnique = (formats: readonly Format[]): boolean => new Set(formats.map(({ name }) => name)).size === formats.length;

const spec = z
  .object({
    formats: z
      .array(format)
      .refine(isUnique, 'each format at most once')
      .describe('The first one wins if a client accepts several equally. Empty: nothing is encoded, even if the site names formats.'),
    minimum_length: z
      .int()
      .min(0)
      .max(MAX_MINIMUM)
      .optional()
      .describe(`Bytes; a response of a known smaller length is not encoded. ${DEFAULT_MINIMUM} if absent.`),
    types: z
      .array(readBy(parseTypePattern))
      .min(1)
      .max(MAX_LINES)
      .optional()
      .describe('Media types to encode, which may begin or end with `*`; if absent, those that compress well.'),
    statuses: z
      .array(z.union([z.int().min(200).max(599), z.enum(['2xx', '3xx', '4xx', '5xx'])]))
      .min(1)
      .max(MAX_LINES)
      .optional()
      .describe('Statuses whose responses are encoded, such as 200 or "2xx"; all if absent.'),
    with_cookies: z
      .boolean()
      .optional()
      .describe('Whether responses that set cookies are encoded, too. See BREACH in the Sluicefile reference.'),
  })
  .meta({ title: 'encode', about: 'Compresses responses for clients that accept it.' });

const members = { encode: spec.nullable().optional().describe('Compresses responses; null or absent: it does not.') };

export const encode: PolicyDescription<typeof members> = {
  members,
  directive: encodeDirective,
  labels: [
    {
      word: 'encode',
      form: 'formats in order of preference: zstd, br, gzip; or off',
      otherwise: 'off',
      example: 'zstd br gzip',
      read(value, part) {
        const names = value === 'off' ? [] : value.split(/[\s,]+/);
        const isKnown = (name: string): name is FormatName => (FORMATS as readonly string[]).includes(name);
        const formats = names.filter(isKnown).map((name) => ({ name }));
        if (formats.length < names.length || !isUnique(formats))
          return 'write zstd, br and gzip in the order of preference, each at most once, or off';
        part.encode = { formats };
        return undefined;
      },
    },
  ],
  unknownLabels: {
    words: ['compress', 'compression', 'gzip', 'brotli', 'zstd', 'deflate'],
    advice: `write encode=zstd br gzip; levels and types can be set in the ${CONFIG_FILE}`,
  },
};
