import * as z from 'zod';
import { MAX_CA_TEXT, readAuthorities } from '../certificates/authorities.ts';
import { type ClientPair, readClientPair } from '../certificates/client-pair.ts';
import { readBy } from '../values/read-by.ts';
import { MAX_ANSWER_SECS, MAX_DIAL_SECS, RESPONSE_HEADER_BYTES, readServerName, type TransportSpec } from './transport.ts';

const PLACES = { certificate: 'certificate', privateKey: 'private_key' };

const clientPair: z.ZodType<ClientPair, ClientPair> = z
  .object({
    certificate: z.string().max(MAX_CA_TEXT).describe('PEM: the certificate, followed by those that issued it.'),
    private_key: z.string().max(MAX_CA_TEXT).describe('PEM: its key. Responses show a mark instead, the same for equal keys.'),
  })
  .transform((given, issues) => {
    const read = readClientPair(given.certificate, given.private_key, PLACES);
    if (read.ok) return { certificate: read.value.certificate, private_key: read.value.private_key };
    issues.addIssue({ code: 'custom', message: read.reason });
    return z.NEVER;
  })
  .meta({ title: 'client_certificate', about: 'The certificate that the proxy presents to targets that request one (mutual TLS).' });

/** Seconds, down to milliseconds; 0 is no limit. */
const timeLimit = z
  .number()
  .min(0)
  .max(MAX_ANSWER_SECS)
  .refine((secs) => secs === 0 || secs >= 0.001, 'a time limit is at least 0.001 seconds; 0 is no limit');

export const transportSchema: z.ZodType<TransportSpec, TransportSpec> = z
  .object({
    protocol: z.enum(['h2', 'h2c']).optional().describe('HTTP/2, over TLS (`h2`) or without (`h2c`); HTTP/1.1 if absent.'),
    server_name: readBy(readServerName, z.string().max(253))
      .optional()
      .describe(
        'The name that the certificates must cover. If absent, it is the host of the target, or the domain if the host is an address.',
      ),
    ca: readBy(readAuthorities, z.string().max(MAX_CA_TEXT))
      .optional()
      .describe('PEM: the authorities that verify the certificates, instead of those the system trusts.'),
    insecure: z.boolean().optional().describe('Whether certificate verification is skipped.'),
    client_certificate: clientPair.optional().describe('The certificate that targets with TLS get from the proxy if they ask for one.'),
    dial_timeout_secs: z
      .int()
      .min(1)
      .max(MAX_DIAL_SECS)
      .optional()
      .describe('Seconds to establish a connection, including name resolution and TLS. If absent: 5, or 1 for targets with an `id`.'),
    response_header_timeout_secs: timeLimit
      .optional()
      .describe('Seconds from the end of a request until the response must begin, otherwise 504; 0 is no limit. 60 if absent.'),
    read_timeout_secs: timeLimit
      .optional()
      .describe(
        'Seconds between two parts of a response body, otherwise the response is cut off; 0 is no limit. 60 if absent. Event streams and gRPC calls have no limit.',
      ),
    request_timeout_secs: timeLimit
      .optional()
      .describe(
        'Seconds from when a request is forwarded until its response is complete, including retries and waiting for a target, otherwise 504, or the response is cut off if it has begun; 0 is no limit. No limit if absent. Event streams, gRPC calls and upgraded connections have no limit.',
      ),
    max_response_header_bytes: z
      .int()
      .min(RESPONSE_HEADER_BYTES.min)
      .max(RESPONSE_HEADER_BYTES.max)
      .optional()
      .describe(
        'Maximum size of a response head in bytes, otherwise 502. If absent, 262,144 bytes and 1,000 lines; a larger limit allows one line per 256 bytes.',
      ),
  })
  .meta({
    title: 'transport',
    about:
      'How to connect to targets, and with which time limits. `server_name`, `ca`, `insecure` and `client_certificate` are for targets with TLS.',
  });
