import * as z from 'zod';
import { LABEL_PREFIX } from '../../name.ts';
import { parseSize } from '../../values/size.ts';
import type { PolicyDescription } from '../policy.ts';
import { MAX_SIZE, requestBodyDirective } from './directive.ts';

const spec = z
  .object({ max_size: z.int().min(0).max(MAX_SIZE).describe('Bytes; 0 allows no body at all.') })
  .meta({ title: 'request_body', about: 'The largest request body that is accepted. Requests with a larger one get 413.' });

const members = {
  request_body: spec.nullable().optional().describe('The largest request body that is accepted; null or absent: no limit.'),
};

export const requestBody: PolicyDescription<typeof members> = {
  members,
  directive: requestBodyDirective,
  labels: [
    {
      word: 'max_body_size',
      form: '<size>',
      otherwise: 'no limit',
      example: '10mb',
      read(value, part) {
        const size = parseSize(value);
        if (!size.ok) return size.reason;
        part.request_body = { max_size: size.value };
        return undefined;
      },
    },
  ],
  unknownLabels: {
    words: ['requestbody', 'bodysize', 'maxbody', 'clientmaxbodysize', 'buffering', 'maxrequestbodybytes'],
    advice: `write ${LABEL_PREFIX}max_body_size=<size>`,
  },
};
