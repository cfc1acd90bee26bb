import { z } from 'zod';
import {
  MAX_ANSWER_SECS,
  MAX_DIAL_SECS,
  MOST_CA_TEXT,
  RESPONSE_HEADER_BYTES,
  readAuthorities,
  readServerName,
  type TransportSpec,
} from './transport.ts';
import type { Parsed } from './values/parsed.ts';

/** Text that a reader understands, in the form that it gives it. */
const readBy = (text: z.ZodString, read: (text: string) => Parsed<string>) =>
  text.transform((given, issues) => {
    const parsed = read(given);
    if (parsed.ok) return parsed.value;
    issues.addIssue({ code: 'custom', message: parsed.reason });
    return z.NEVER;
  });

export const transportSchema: z.ZodType<TransportSpec, TransportSpec> = z
  .object({
    protocol: z.enum(['h2', 'h2c']).optional().describe('HTTP/2, over TLS (`h2`) or without (`h2c`); HTTP/1.1 where it is left out.'),
    server_name: readBy(z.string().max(253), readServerName)
      .optional()
      .describe(
        'The name that the certificates must show; the host of the target where it is left out, or the domain where that is an address.',
      ),
    ca: readBy(z.string().max(MOST_CA_TEXT), readAuthorities)
      .optional()
      .describe('PEM: who vouches for the certificates, in place of those whom the system trusts.'),
    insecure: z.boolean().optional().describe("Whether the certificates may be anybody's."),
    dial_timeout_secs: z
      .int()
      .min(1)
      .max(MAX_DIAL_SECS)
      .optional()
      .describe(
        'Seconds that a connection may take to stand, name look-up and TLS included. Where it is left out: 5, or 1 for targets with an `id`.',
      ),
    response_header_timeout_secs: z
      .int()
      .min(0)
      .max(MAX_ANSWER_SECS)
      .optional()
      .describe('Seconds from the end of a request until its answer must begin, or it is 504; 0 is no limit. 60 where it is left out.'),
    read_timeout_secs: z
      .int()
      .min(0)
      .max(MAX_ANSWER_SECS)
      .optional()
      .describe(
        'Seconds between two pieces of the body of an answer, or it is cut; 0 is no limit. 60 where it is left out. Streams of events and calls of gRPC have none.',
      ),
    max_response_header_bytes: z
      .int()
      .min(RESPONSE_HEADER_BYTES.least)
      .max(RESPONSE_HEADER_BYTES.most)
      .optional()
      .describe(
        'Bytes that the head of an answer may be, or it is 502. 262,144 where it is left out, and 1,000 lines; larger ones may have a line for each 256 bytes.',
      ),
  })
  .meta({
    title: 'transport',
    about: 'How targets are spoken to, and how long they may take. `server_name`, `ca` and `insecure` are for targets with TLS.',
  });
