import * as z from 'zod';
import { faultOfTemplate } from '../../placeholders/template.ts';
import {
  HEADER_NAME,
  HEADER_VALUE,
  isFramingHeader,
  LONGEST_HEADER_NAME,
  LONGEST_HEADER_VALUE,
  NOT_FRAMING,
} from '../../response-header.ts';
import type { Label, PolicyDescription, PolicyPart } from '../policy.ts';
import { changeSchema, MAX_HEADERS } from './change.ts';
import { headerDirective } from './directive.ts';

const field = changeSchema(NOT_FRAMING, 'the proxy itself sets this header', () => 'answer')
  .safeExtend({
    deferred: z.literal(true).optional().describe('Whether it is applied after the response has been compressed or otherwise changed.'),
  })
  .meta({ title: 'header', about: 'A change to a response header field. Changes apply in order.' });

const members = { headers: z.array(field).max(MAX_HEADERS).default([]).describe('Changes to response header fields.') };

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
    const fault = faultOfTemplate(text, 'answer');
    if (fault !== undefined) return fault;
    if (headers.some((other) => other.name.toLowerCase() === called.toLowerCase())) return 'the header appears twice, in different case';
    if (headers.length === MAX_HEADERS) return `a site has at most ${MAX_HEADERS} headers`;
    part.headers = [...headers, { name: called, value: text }];
    return undefined;
  },
};

export const header: PolicyDescription<typeof members> = { members, directive: headerDirective, labels: [label] };
