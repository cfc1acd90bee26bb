import * as z from 'zod';
import { CONFIG_FILE } from '../../name.ts';
import { faultOfTemplate } from '../../placeholders/template.ts';
import { faultOfTarget } from '../../redirect-target.ts';
import { parseUpstream } from '../../values/address.ts';
import { readBy } from '../../values/read-by.ts';
import { NAME_TOKEN } from '../../values/token.ts';
import { concealedQuery } from '../concealed-text.ts';
import { MAX_HEADERS } from '../header/change.ts';
import type { PolicyDescription } from '../policy.ts';
import { concealedChanges, requestChange } from '../request-header/request-header.ts';
import {
  COPIED_TWICE,
  COPYABLE,
  DEFAULT_TIMEOUT_SECS,
  faultOfCopied,
  forwardAuthDirective,
  MAX_COPIED,
  MAX_TIMEOUT_SECS,
  MAX_UPSTREAMS,
} from './directive.ts';
import { faultOfQuestionHeader } from './question-headers.ts';
import { isRejected, MAX_REJECTIONS } from './rejections.ts';
import { faultOfUri } from './uri.ts';

const fieldName = z
  .string()
  .regex(NAME_TOKEN, 'a header name consists of letters, digits and hyphens')
  .refine(COPYABLE.accepts, COPYABLE.reason);

const copied = z
  .object({
    from: fieldName.describe('The field of the authentication server’s response.'),
    to: fieldName.describe('The field of the request to the upstream.'),
  })
  .meta({ title: 'copy_headers', about: 'A field that the upstream gets from the authentication server, and never from the client.' });

const rejection = z
  .object({
    statuses: z
      .array(z.int().refine(isRejected, 'a status from 300 to 599, or 3, 4 or 5'))
      .min(1)
      .max(50)
      .describe('The statuses of the authentication server; 3, 4 and 5 stand for a class.'),
    to: z
      .string()
      .max(8_192)
      .regex(/^(?:\/|\{|[a-z][a-z0-9+.-]*:\/\/)[\x21-\x7e]*$/i, 'the target must be a path or a URL')
      .superRefine((text, issues) => {
        const message = faultOfTemplate(text, 'request') ?? faultOfTarget(text);
        if (message !== undefined) issues.addIssue({ code: 'custom', message });
      })
      .describe('Where the client is redirected, with placeholders. Their values are percent-encoded in its query.'),
    status: z.literal([301, 302, 303, 307, 308]).default(302).describe('The status that the client gets.'),
  })
  .meta({ title: 'rejections', about: 'Redirects the client instead of passing a rejection on.' });

const spec = z
  .object({
    upstreams: z.array(readBy(parseUpstream)).min(1).max(MAX_UPSTREAMS).describe('The addresses of the authentication server.'),
    tls: z.boolean().default(false).describe('Whether the proxy connects to it over TLS.'),
    uri: z
      .string()
      .max(2_048)
      .superRefine((text, issues) => {
        const message = faultOfUri(text);
        if (message !== undefined) issues.addIssue({ code: 'custom', message });
      })
      .describe('The path, and perhaps a query, that is requested there; with placeholders.'),
    copy_headers: z
      .array(copied)
      .max(MAX_COPIED)
      .refine((list) => faultOfCopied(list) === undefined, COPIED_TWICE)
      .default([])
      .describe('Fields that are copied to the request if it is allowed.'),
    pass_cookies: z
      .boolean()
      .optional()
      .describe('Whether the client gets the cookies that come with an approval, or with a rejection that redirects it.'),
    request_headers: z
      .array(requestChange)
      .max(MAX_HEADERS)
      .refine(
        (list) => list.every(({ match, upstream_only }) => match === undefined && upstream_only === undefined),
        'these changes have no match and no upstream_only',
      )
      .refine((list) => list.every(({ name }) => faultOfQuestionHeader(name) === undefined), 'the proxy itself sets this header')
      .optional()
      .describe('Changes to the header fields that the authentication server gets, and the upstream does not.'),
    rejections: z.array(rejection).max(MAX_REJECTIONS).optional().describe('Rejections that redirect the client.'),
    timeout_secs: z
      .int()
      .min(1)
      .max(MAX_TIMEOUT_SECS)
      .default(DEFAULT_TIMEOUT_SECS)
      .describe('Seconds to wait for the response to begin, and between two parts of it.'),
  })
  .meta({ title: 'forward_auth', about: 'Asks an authentication server about each request.' });

const members = {
  forward_auth: spec.nullable().optional().describe('Asks an authentication server about each request; null or absent: none.'),
};

export const forwardAuth: PolicyDescription<typeof members> = {
  members,
  directive: forwardAuthDirective,
  unknownLabels: {
    words: ['forwardauth', 'authrequest', 'oidc', 'oauth', 'oauth2', 'sso'],
    advice: `no label does this: configure the site in the ${CONFIG_FILE}, with forward_auth`,
  },
  // A value or parameter may be a key for the authentication server.
  concealed({ forward_auth: auth }) {
    if (!auth) return null;
    const uri = concealedQuery(auth.uri);
    const marked = concealedChanges(auth.request_headers ?? []);
    if (marked === null && uri === auth.uri) return null;
    return { forward_auth: { ...auth, uri, ...(marked && { request_headers: marked }) } };
  },
  restrictsAccess: ({ forward_auth: auth }) => auth != null,
};
