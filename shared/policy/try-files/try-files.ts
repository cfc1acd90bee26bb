import * as z from 'zod';
import type { Grammar } from '../../config-file/directive.ts';
import { quote } from '../../config-file/quote.ts';
import { readBy } from '../../values/read-by.ts';
import { parseTried } from '../file-server/values.ts';
import type { PolicyDescription } from '../policy.ts';

const MAX_TRIED = 20;

const tryFilesDirective: Grammar<{ try_files?: string[] | undefined }> = {
  name: 'try_files',
  form: 'try_files <file> [<file> …]',
  args: [1, MAX_TRIED],
  block: 'none',
  repeats: false,
  read({ args }, part, { report }) {
    const files: string[] = [];
    for (const [at, word] of args.entries()) {
      const tried = parseTried(word.text);
      if (!tried.ok) report.error(word, `try_files ${quote(word.text)}: ${tried.reason}`);
      else if (tried.value.startsWith('=') && at < args.length - 1)
        report.error(word, `try_files ${quote(word.text)}: a status comes last, since nothing after it is reached`);
      else files.push(tried.value);
    }
    part.try_files = files;
  },
};

const members = {
  try_files: z
    .array(readBy(parseTried))
    .min(1)
    .max(MAX_TRIED)
    .refine((files) => files.slice(0, -1).every((file) => !file.startsWith('=')), 'a status comes last')
    .optional()
    .describe('Files that `file_server` tries in this order: paths with `{path}`, or `=404` as the last one. Absent: those of the site.'),
};

export const tryFiles: PolicyDescription<typeof members> = { members, directive: tryFilesDirective };
