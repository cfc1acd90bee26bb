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
import type { Label, Policy, Said } from '../policy.ts';
import { headerDirective, MOST_HEADERS } from './directive.ts';

const name = z
  .string()
  .max(LONGEST_HEADER_NAME)
  .regex(HEADER_NAME, 'a header name is letters, digits and hyphens')
  .regex(NOT_FRAMING, 'the proxy itself sets this header');

/** No control characters, so that a value can never end its line. */
const value = z.string().max(LONGEST_HEADER_VALUE).regex(HEADER_VALUE, 'a header value has no control characters');

const field = z
  .object({
    name: name.describe('Letters, digits and hyphens.'),
    value: value.nullable().describe('What it is set to; null removes it.'),
    match: conditionSchema.optional().describe('Which requests it is for; all where it is left out.'),
  })
  .meta({ title: 'header', about: 'A field of the answer that is set or removed. The last one of a name wins.' });

const members = { headers: z.array(field).max(MOST_HEADERS).default([]).describe('Fields of the answer.') };

const label: Label<Said<typeof members>> = {
  word: 'header',
  form: 'VALUE',
  otherwise: 'the default headers alone',
  example: 'DENY',
  read(text, said, called) {
    const { headers = [] } = said;
    if (!HEADER_NAME.test(called) || called.length > LONGEST_HEADER_NAME) return 'a header name is letters, digits and hyphens';
    if (isFramingHeader(called)) return 'the proxy itself sets this header';
    if (!HEADER_VALUE.test(text) || text.length > LONGEST_HEADER_VALUE)
      return 'a header value has no control characters and none beyond U+00FF';
    if (headers.some((other) => other.name.toLowerCase() === called.toLowerCase()))
      return 'the header is named twice, in different letters';
    if (headers.length === MOST_HEADERS) return `a site has at most ${MOST_HEADERS} headers`;
    said.headers = [...headers, { name: called, value: text }];
    return undefined;
  },
};

export const header: Policy<typeof members> = { members, directive: headerDirective, labels: [label] };
