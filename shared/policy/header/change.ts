import * as z from 'zod';
import { conditionSchema } from '../../condition.ts';
import type { Scope } from '../../placeholders/names.ts';
import { faultOfTemplate } from '../../placeholders/template.ts';
import { HEADER_NAME, HEADER_VALUE, LONGEST_HEADER_NAME, LONGEST_HEADER_VALUE } from '../../response-header.ts';

export const MAX_HEADERS = 1_000;

/** How a field is changed, apart from setting it (no `op`, a value) and removing it (no `op`, null). */
export const OPERATIONS = ['add', 'default', 'replace'] as const;

/** No control characters, so that a value can never end its line. */
const plain = z.string().max(LONGEST_HEADER_VALUE).regex(HEADER_VALUE, 'a header value must not contain control characters');

/** The members of a change, for responses and for requests. `allowed` matches the names that may be changed. */
export function changeSchema(allowed: RegExp, why: string, scopeOf: (name: string, value: string) => Scope) {
  const name = z
    .string()
    .max(LONGEST_HEADER_NAME)
    .regex(HEADER_NAME, 'a header name consists of letters, digits and hyphens')
    .regex(allowed, why);
  return z
    .object({
      name: name.describe('Letters, digits and hyphens. To remove several fields, `*` at either end stands for any text.'),
      value: plain.nullable().describe('The value, which may contain placeholders; null removes the field.'),
      op: z
        .enum(OPERATIONS)
        .optional()
        .describe(
          '`add` adds a field beside others of the name, `default` sets it unless it is there, and `replace` puts the value in place of `find`. Absent: the value is the only one of its name.',
        ),
      find: plain.min(1).optional().describe('The text that `replace` looks for. It is plain text, not a pattern.'),
      match: conditionSchema.optional().describe('Requests that it applies to; all if absent.'),
      upstream_only: z
        .literal(true)
        .optional()
        .describe(
          'Whether it concerns only what the upstreams of this site or block get and send: not blocks with upstreams of their own, nor responses of the proxy itself.',
        ),
    })
    .superRefine(({ name: field, value, op, find }, issues) => {
      const fault = faultOfChange(op, value, find) ?? (value === null ? undefined : faultOfTemplate(value, scopeOf(field, value)));
      if (fault !== undefined) issues.addIssue({ code: 'custom', message: fault });
    });
}

function faultOfChange(op: string | undefined, value: string | null, find: string | undefined): string | undefined {
  if (op !== undefined && value === null) return `${op} needs a value`;
  return (op === 'replace') === (find !== undefined) ? undefined : 'replace and find belong together';
}
