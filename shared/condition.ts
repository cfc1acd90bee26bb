import { z } from 'zod';
import { parseCidr } from './values/cidr.ts';

/**
 * What a request must be like for a block or a directive to apply: every member that stands must match, and none of
 * `not`. In a list of paths, methods or ranges any entry does.
 */

/** A path pattern or, with `*` at its beginning, what a path ends with or, with one at its end as well, holds. */
const path = z
  .string()
  .max(8_192)
  .regex(/^(?:\/|\*.)/, 'a path begins with "/", or with "*" and what it ends with');
const method = z
  .string()
  .max(64)
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'a method is letters');
/** An address or a range of them. */
export const rangeSchema = z.string().transform((text, issues) => {
  const parsed = parseCidr(text);
  if (parsed.ok) return parsed.value;
  issues.addIssue({ code: 'custom', message: parsed.reason });
  return z.NEVER;
});
const field = z.object({
  name: z
    .string()
    .min(1)
    .max(256)
    .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'a header name is letters, digits and hyphens'),
  /** Any of these, `*` at an end standing for any text; empty: any value at all. */
  values: z.array(z.string().max(8_192)).max(100),
  /** There must be no such field. */
  absent: z.literal(true).optional(),
});
const parameter = z.object({
  name: z.string().max(1_024),
  /** Any of these; empty: any value at all. */
  values: z.array(z.string().max(8_192)).max(100),
});

const members = {
  path: z.array(path).min(1).max(100).optional().describe('Path patterns; also what a path ends with, `*.php`, or holds, `*/admin/*`.'),
  method: z.array(method).min(1).max(50).optional().describe('Methods.'),
  header: z
    .array(field)
    .min(1)
    .max(50)
    .optional()
    .describe(
      'Fields of the request, each `{name, values, absent}`: any of the values, any value at all where the list is empty, or with `absent` no such field.',
    ),
  query: z.array(parameter).min(1).max(50).optional().describe('Parameters, each `{name, values}`.'),
  remote_ip: z.array(rangeSchema).min(1).max(1_000).optional().describe('Client addresses and ranges.'),
};

const ONE_OF = 'a condition has at least one of path, method, header, query, remote_ip and not';
const isSaid = (condition: object): boolean =>
  Object.entries(condition).some(([member, value]) => member !== 'name' && value !== undefined);

const plainSchema = z.object(members).refine(isSaid, ONE_OF);

export const conditionSchema = z
  .object({
    name: z.string().max(256).optional().describe('What people call it: `@api`.'),
    ...members,
    not: z.array(plainSchema).min(1).max(50).optional().describe('Conditions of the same members, none of which may match.'),
  })
  .refine(isSaid, ONE_OF)
  .meta({
    title: 'match',
    about: 'What a request must be like: every member that stands must match, and none of `not`. In a list any entry does.',
  });

export type FieldCondition = z.output<typeof field>;
export type ParameterCondition = z.output<typeof parameter>;
/** A condition without exceptions. */
export type PlainCondition = Readonly<z.output<typeof plainSchema>>;
/** `name` is what people call it: `@api`. */
export type Condition = Readonly<z.output<typeof conditionSchema>>;
