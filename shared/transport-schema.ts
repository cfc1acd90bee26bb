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

export const transportSchema: z.ZodType<TransportSpec, TransportSpec> = z.object({
  protocol: z.enum(['h2', 'h2c']).optional(),
  server_name: readBy(z.string().max(253), readServerName).optional(),
  ca: readBy(z.string().max(MOST_CA_TEXT), readAuthorities).optional(),
  insecure: z.boolean().optional(),
  dial_timeout_secs: z.int().min(1).max(MAX_DIAL_SECS).optional(),
  response_header_timeout_secs: z.int().min(0).max(MAX_ANSWER_SECS).optional(),
  read_timeout_secs: z.int().min(0).max(MAX_ANSWER_SECS).optional(),
  max_response_header_bytes: z.int().min(RESPONSE_HEADER_BYTES.least).max(RESPONSE_HEADER_BYTES.most).optional(),
});
