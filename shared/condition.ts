import * as z from 'zod';
import { MAX_PORTS } from './limits.ts';
import { NOT_CONCEALED } from './policy/concealed-text.ts';
import { DRAWN_BY, MAX_PARTS, USUAL_SPLIT_COOKIE } from './share.ts';
import { parseCidr } from './values/cidr.ts';
import { parseDomain } from './values/host.ts';
import { readBy } from './values/read-by.ts';
import { parseRegexp } from './values/regexp.ts';
import { TOKEN } from './values/token.ts';

/**
 * Which requests a block or directive applies to. Every member that is present must match, and none of `not`. A list of paths, methods or
 * ranges matches if any entry does.
 */

/** A path pattern, a suffix (`*` at the beginning), or a substring (`*` at both ends). */
const path = z
  .string()
  .max(8_192)
  .regex(/^(?:\/|\*.)/, 'a path must start with "/", or with "*" followed by a suffix');
const method = z.string().max(64).regex(TOKEN, 'a method is letters');
/** An address or a range. */
export const rangeSchema = readBy(parseCidr);
/** What the value of a field or parameter is compared with; it may be a secret. */
const compared = z.string().max(8_192).refine(NOT_CONCEALED.accepts, NOT_CONCEALED.reason);
const field = z.object({
  name: z.string().min(1).max(256).regex(TOKEN, 'a header name consists of letters, digits and hyphens'),
  /** Any of these, where `*` at an end matches any text; empty: any value. */
  values: z.array(compared).max(100),
  /** The field must not be present. */
  absent: z.literal(true).optional(),
  /** `*` in the values is only a star. */
  exact: z.literal(true).optional(),
});
const parameter = z.object({
  name: z.string().max(1_024),
  /** Any of these; empty: any value. */
  values: z.array(compared).max(100),
});

const share = z
  .object({
    from: z.int().min(0).max(MAX_PARTS).describe('The first part of the whole that belongs to it, counted from 0.'),
    to: z.int().min(0).max(MAX_PARTS).describe('The first part after it.'),
    of: z.int().min(1).max(MAX_PARTS).describe('How many parts the whole has.'),
    by: z
      .enum(DRAWN_BY)
      .optional()
      .describe(
        'What decides: each `request` by itself if absent, the client’s `address` (an IPv6 /64), the value of a `header`, or a `cookie` that the browser gets with its first response.',
      ),
    name: z
      .string()
      .min(1)
      .max(256)
      .regex(TOKEN, 'a name consists of letters, digits and hyphens')
      .optional()
      .describe(`The name of the header or of the cookie; ${USUAL_SPLIT_COOKIE} if absent.`),
  })
  .refine(({ from, to, of }) => from <= to && to <= of, 'a share begins before its end, and ends within the whole')
  .refine(
    ({ by, name }) => (by === 'header' ? name !== undefined : by === 'cookie' || name === undefined),
    'only a header and a cookie have a name',
  )
  .meta({
    title: 'share',
    about: 'A part of all requests: of several shares with the same `of` and `by` that do not overlap, at most one matches.',
  });

/** A port that the data plane listens on. */
export const portSchema = z.int().min(1).max(65_535);
const pattern = readBy(parseRegexp);
const comparedPattern = pattern.refine(NOT_CONCEALED.accepts, NOT_CONCEALED.reason);

const members = {
  path: z.array(path).min(1).max(100).optional().describe('Path patterns; also suffixes (`*.php`) and substrings (`*/admin/*`).'),
  method: z.array(method).min(1).max(50).optional().describe('Methods.'),
  header: z
    .array(field)
    .min(1)
    .max(50)
    .optional()
    .describe(
      'Request header fields, each `{name, values, absent, exact}`: matches any of the values, any value if the list is empty, or with `absent` only if the field is missing. `*` at an end of a value matches any text, unless `exact` is true. A repeated field matches if one of its lines does.',
    ),
  query: z.array(parameter).min(1).max(50).optional().describe('Query parameters, each `{name, values}`.'),
  host: z
    .array(readBy(parseDomain))
    .min(1)
    .max(100)
    .optional()
    .describe('Hosts of the request, also `*.example.com` for exactly one more label; for sites with a wildcard domain.'),
  protocol: z.enum(['http', 'https']).optional().describe("The scheme of the client's request, as reported by trusted proxies."),
  port: z
    .array(portSchema)
    .min(1)
    .max(2 * MAX_PORTS)
    .optional()
    .describe('Ports of this machine: the one that the connection arrived at, not one that the request or a PROXY header names.'),
  local_ip: z
    .array(rangeSchema)
    .min(1)
    .max(1_000)
    .optional()
    .describe(
      'Addresses and ranges of this machine: the one that the connection arrived at, not one that the request or a PROXY header names. `explain` assumes that it matches.',
    ),
  path_regexp: z
    .array(pattern)
    .min(1)
    .max(20)
    .optional()
    .describe('Regular expressions (RE2), any of which matches in the normalized path.'),
  header_regexp: z
    .array(z.object({ name: field.shape.name, pattern: comparedPattern }))
    .min(1)
    .max(20)
    .optional()
    .describe(
      'Request header fields, each `{name, pattern}`: one of its values contains a match. Of several with one name, any may match.',
    ),
  query_regexp: z
    .array(z.object({ name: parameter.shape.name, pattern: comparedPattern }))
    .min(1)
    .max(20)
    .optional()
    .describe('Query parameters, each `{name, pattern}`, decoded. Of several with one name, any may match.'),
  share: share.optional().describe('A share of the requests or clients.'),
  remote_ip: z.array(rangeSchema).min(1).max(1_000).optional().describe('Client addresses and ranges.'),
};

const ONE_OF = `a condition needs at least one of ${Object.keys(members).join(', ')} and not`;
const isSaid = (condition: object): boolean =>
  Object.entries(condition).some(([member, value]) => member !== 'name' && value !== undefined);

const plainSchema = z.object(members).refine(isSaid, ONE_OF);

export const conditionSchema = z
  .object({
    name: z.string().max(256).optional().describe('Its name in the config file: `@api`.'),
    ...members,
    not: z.array(plainSchema).min(1).max(50).optional().describe('Conditions with the same members, none of which may match.'),
  })
  .refine(isSaid, ONE_OF)
  .meta({
    title: 'match',
    about: 'Which requests match: every member that is present must match, and none of `not`. A list matches if any entry does.',
  });

export type ShareCondition = Readonly<z.output<typeof share>>;
export type FieldCondition = z.output<typeof field>;
export type PatternCondition = { readonly name: string; readonly pattern: string };
export type ParameterCondition = z.output<typeof parameter>;
/** A condition without `not`. */
export type PlainCondition = Readonly<z.output<typeof plainSchema>>;
/** `name` is its name in the config file: `@api`. */
export type Condition = Readonly<z.output<typeof conditionSchema>>;
