import * as z from 'zod';
import { faultOfTemplate } from '../../placeholders/template.ts';
import { HEADER_NAME, HEADER_VALUE, LONGEST_HEADER_NAME, LONGEST_HEADER_VALUE, NOT_FRAMING } from '../../response-header.ts';
import { readBy } from '../../values/read-by.ts';
import { parseRoot } from '../file-server/values.ts';
import type { PolicyDescription } from '../policy.ts';
import { handleErrorsDirective, LONGEST_PAGE, MAX_PAGES } from './directive.ts';
import { MAX_PATHS, parseErrorFile } from './error-file.ts';

const text = z
  .string()
  .max(LONGEST_PAGE)
  .superRefine((given, issues) => {
    const fault = faultOfTemplate(given, 'answer');
    if (fault !== undefined) issues.addIssue({ code: 'custom', message: fault });
  });

const header = z
  .object({
    name: z
      .string()
      .max(LONGEST_HEADER_NAME)
      .regex(HEADER_NAME)
      .regex(NOT_FRAMING, 'the proxy itself sets this header')
      .describe('The name.'),
    value: z
      .string()
      .max(LONGEST_HEADER_VALUE)
      .regex(HEADER_VALUE, 'no control characters')
      .describe('The value, which may contain placeholders. With braces that are none, it is sent as it is.'),
  })
  .meta({ title: 'error_headers', about: 'A header of an error page.' });

const files = z
  .object({
    root: readBy(parseRoot).optional().describe('The directory; absent: the `root` of the block or site.'),
    paths: z
      .array(readBy(parseErrorFile))
      .min(1)
      .max(MAX_PATHS)
      .describe('Files below it, of which the first that exists is used: "/{err.status_code}.html".'),
  })
  .meta({ title: 'error_files', about: 'Pages for errors that are files on the machine of the data plane.' });

const page = z
  .object({
    statuses: z
      .array(z.union([z.int().min(400).max(599), z.enum(['4xx', '5xx'])]))
      .min(1)
      .max(MAX_PAGES)
      .optional()
      .describe('The errors it is for, such as 404 or "5xx"; all if absent.'),
    respond: text
      .optional()
      .describe('Plain text, which may contain placeholders. Exactly one of `respond`, `page` and `files` is required.'),
    page: z.string().max(LONGEST_PAGE).optional().describe('HTML. Only `{err.status_code}` and `{err.status_text}` are replaced.'),
    files: files.optional().describe('Files that are read when they are needed.'),
    headers: z.array(header).max(MAX_PAGES).optional().describe('Headers to set.'),
    intercept: z.boolean().optional().describe("Whether it also replaces the upstream's error pages."),
  })
  .refine(
    ({ respond, page: html, files: read }) => [respond, html, read].filter((one) => one !== undefined).length === 1,
    'exactly one of respond, page and files is required',
  )
  .meta({ title: 'handle_errors', about: 'A page for errors. The first one that names the status is used; it never changes the status.' });

const members = {
  handle_errors: z
    .array(page)
    .max(MAX_PAGES)
    .optional()
    .describe("Pages for errors of the proxy itself, and for the upstream's if they say so."),
};

export const handleErrors: PolicyDescription<typeof members> = { members, directive: handleErrorsDirective };
