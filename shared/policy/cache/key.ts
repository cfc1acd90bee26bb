import * as z from 'zod';

export const MAX_PARAMETERS = 50;
export const MAX_FIELDS = 10;
const LONGEST = 128;

/** A field name (RFC 9110 5.1) or the name of a cookie (RFC 6265 4.1.1). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
/** Fields that are in every key, or never decide alone which response is stored. */
const OTHERS =
  /^(?:host|range|if-.+|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|content-.+|cache-control|pragma|authorization|proxy-.+)$/i;

/** Why a text can't be the name of a query parameter in a key; null if it can. */
export function parameterProblem(name: string): string | null {
  if (name === '' || name.length > LONGEST || /[\s&=#?]/.test(name))
    return `a parameter has 1 to ${LONGEST} characters, without spaces, & = # and ?`;
  return name.slice(0, -1).includes('*') ? 'a * stands only at the end' : null;
}

export function headerProblem(name: string): string | null {
  if (!TOKEN.test(name)) return 'a header name consists of letters, digits and hyphens';
  if (/^cookie$/i.test(name)) return 'name the cookies: key cookie <name>';
  return OTHERS.test(name) ? 'this header can’t be a part of the key' : null;
}

export const cookieProblem = (name: string): string | null =>
  TOKEN.test(name) ? null : 'the name of a cookie has no spaces, and none of , ; =';

const names = (problem: (name: string) => string | null, most: number) =>
  z
    .array(
      z.string().superRefine((name, context) => {
        const reason = problem(name);
        if (reason !== null) context.addIssue({ code: 'custom', message: reason });
      }),
    )
    .min(1)
    .max(most)
    .optional();

export const keySchema = z
  .object({
    query: names(parameterProblem, MAX_PARAMETERS).describe(
      'The only query parameters that decide; all others are removed from the request. `*` at the end of a name stands for any text.',
    ),
    ignore_query: names(parameterProblem, MAX_PARAMETERS).describe(
      'Query parameters that do not decide, and are removed from the request; `*` for all.',
    ),
    headers: names(headerProblem, MAX_FIELDS).describe('Request headers whose values decide, as if every response named them in `Vary`.'),
    cookies: names(cookieProblem, MAX_FIELDS).describe(
      'Cookies whose values decide. A request without other cookies is one without cookies for the cache.',
    ),
  })
  .refine(({ query, ignore_query }) => query === undefined || ignore_query === undefined, 'give either query or ignore_query')
  .meta({
    title: 'cache.key',
    about: 'What decides which stored response a request gets, besides its scheme, its host, its path and `Vary`.',
  });

export type KeySpec = z.output<typeof keySchema>;
