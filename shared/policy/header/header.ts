import { z } from 'zod';
import { conditionSchema } from '../../condition.ts';
import {
  HEADER_NAME,
  HEADER_VALUE,
  isFramingHeader,
  LONGEST_HEADER_NAME,
  LONGEST_HEADER_VALUE,
  NOT_FRAMING,
} from '../../response-header.ts';
import type { Label, Policy, PolicyPart } from '../policy.ts';
import { headerDirective, MOST_HEADERS } from './directive.ts';

const name = z
  .string()
  .max(LONGEST_HEADER_NAME)
  .regex(HEADER_NAME, 'a header name consists of letters, digits and hyphens')
  .regex(NOT_FRAMING, 'the proxy itself sets this header');

/** No control characters, so that a value can never end its line. */
const value = z.string().max(LONGEST_HEADER_VALUE).regex(HEADER_VALUE, 'a header value must not contain control characters');

const field = z
  .object({
    name: name.describe('Letters, digits and hyphens.'),
    value: value.nullable().describe('The value to set; null removes the field.'),
    match: conditionSchema.optional().describe('Requests that it applies to; all if absent.'),
  })
  .meta({ title: 'header', about: 'A response header field to set or remove. The last one with a name wins.' });

const members = { headers: z.array(field).max(MOST_HEADERS).default([]).describe('Response header fields to set or remove.') };

const label: Label<PolicyPart<typeof members>> = {
  word: 'header',
  form: 'VALUE',
  otherwise: 'only the default headers',
  example: 'DENY',
  read(text, part, called) {
    const { headers = [] } = part;
    if (!HEADER_NAME.test(called) || called.length > LONGEST_HEADER_NAME) return 'a header name consists of letters, digits and hyphens';
    if (isFramingHeader(called)) return 'the proxy itself sets this header';
    if (!HEADER_VALUE.test(text) || text.length > LONGEST_HEADER_VALUE)
      return 'a header value must not contain control characters or characters above U+00FF';
    if (headers.some((other) => other.name.toLowerCase() === called.toLowerCase())) return 'the header appears twice, in different case';
    if (headers.length === MOST_HEADERS) return `a site has at most ${MOST_HEADERS} headers`;
    part.headers = [...headers, { name: called, value: text }];
    return undefined;
  },
};

export const header: Policy<typeof members> = { members, directive: headerDirective, labels: [label] };
