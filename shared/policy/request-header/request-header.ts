import * as z from 'zod';
import { faultOfTemplate } from '../../placeholders/template.ts';
import { concealedText } from '../concealed-text.ts';
import { changeSchema, MAX_HEADERS } from '../header/change.ts';
import type { PolicyDescription } from '../policy.ts';
import { faultOfHost, requestHeaderDirective } from './directive.ts';
import { CHANGEABLE, isHost, OF_TARGET } from './names.ts';

const scopeOf = (name: string, value: string) => (isHost(name) && OF_TARGET.has(value) ? 'target' : 'request');

/** A change of a field of a request. */
export const requestChange = changeSchema(CHANGEABLE, 'the proxy itself sets this header', scopeOf)
  .superRefine((change, issues) => {
    if (!isHost(change.name)) return;
    // Anything else about the value is reported already.
    if (change.value !== null && faultOfTemplate(change.value, scopeOf(change.name, change.value)) !== undefined) return;
    const fault = faultOfHost(change);
    if (fault !== undefined) issues.addIssue({ code: 'custom', message: fault });
  })
  .meta({ title: 'request_header', about: 'A change to a request header field for the upstream. Changes apply in order.' });

const members = {
  request_headers: z
    .array(requestChange)
    .max(MAX_HEADERS)
    .optional()
    .describe('Changes to the request header fields that the upstream gets.'),
};

export const requestHeader: PolicyDescription<typeof members> = {
  members,
  directive: requestHeaderDirective,
  // A value may be a key or a password for the upstream, regardless of the name of its field.
  concealed({ request_headers: headers = [] }) {
    const marked = concealedChanges(headers);
    return marked && { request_headers: marked };
  },
};

type Concealable = { readonly name: string; value: string | null };

/** Changes without values that may be secrets; null if there are none. */
export function concealedChanges<Change extends Concealable>(changes: readonly Change[]): Change[] | null {
  const marked = changes.map((change) => (change.value === null || isHost(change.name) ? change : concealedChange(change)));
  return marked.every((change, index) => change === changes[index]) ? null : marked;
}

function concealedChange<Change extends { value: string | null }>(change: Change): Change {
  const value = change.value === null ? null : concealedText(change.value);
  return value === change.value ? change : { ...change, value };
}
