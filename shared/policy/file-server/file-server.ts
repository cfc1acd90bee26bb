import * as z from 'zod';
import { readBy } from '../../values/read-by.ts';
import { FORMATS } from '../encode/formats.ts';
import type { PolicyDescription } from '../policy.ts';
import { fileServerDirective } from './directive.ts';
import { MAX_NAMES, parseFileName, parseRoot } from './values.ts';

const names = z.array(readBy(parseFileName)).max(MAX_NAMES).optional();

const spec = z
  .object({
    root: readBy(parseRoot).optional().describe('The directory; absent: the `root` of the block or site.'),
    index: names.describe('The files that are served for a directory, the first that exists; absent: index.html and index.txt.'),
    hide: names.describe(
      'Names of files and directories that are never served, or patterns with `*`, `?` and classes such as `[a-z]` and `[^a-z]`.',
    ),
    browse: z.boolean().optional().describe('Whether a directory without an index file is listed.'),
    precompressed: z
      .array(z.enum(FORMATS))
      .max(FORMATS.length)
      .refine((formats) => new Set(formats).size === formats.length, 'each format at most once')
      .optional()
      .describe('Formats of compressed files beside the originals (.zst, .br, .gz), in the order of preference.'),
    status: z
      .int()
      .min(200)
      .max(599)
      .refine((status) => ![204, 205, 206, 304].includes(status), 'a status with a body')
      .optional()
      .describe('The status of responses with a file; 200 if absent.'),
    dot_files: z.boolean().optional().describe('Whether names that begin with a dot are served. `/.well-known/` always is.'),
  })
  .meta({ title: 'file_server', about: 'Responds with files of a directory on the machine of the data plane.' });

const members = { file_server: spec.nullable().optional().describe('Responds with files; null or absent: it does not.') };

export const fileServer: PolicyDescription<typeof members> = { members, directive: fileServerDirective };
