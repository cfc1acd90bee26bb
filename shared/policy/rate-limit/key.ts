import type { PlainName, PrefixName } from '../../placeholders/names.ts';
import { faultOfTemplate, isConstant, templateParts } from '../../placeholders/template.ts';

/** Characters in a route. */
export const LONGEST_KEY = 1_024;

const EACH_REQUEST = 'is different for each request, so no limit would ever be reached';

/** Placeholders that would make a limit ineffective. */
const UNSUITABLE: Readonly<Partial<Record<PlainName | PrefixName, string>>> = {
  'http.auth.user.id': 'is not known yet: rate_limit comes before authentication',
  'http.request.uuid': EACH_REQUEST,
  'http.request.remote': 'has the port of the connection: write {client_ip}',
  'http.request.remote.port': 'is different for each connection: write {client_ip}',
  'time.now.http': EACH_REQUEST,
  'time.now.unix': EACH_REQUEST,
  'time.now.unix_ms': EACH_REQUEST,
};

/** What is wrong with the key of a limit; undefined if nothing is. */
export function faultOfRateKey(text: string): string | undefined {
  if (text === '') return 'a key must not be empty';
  const fault = faultOfTemplate(text, 'request');
  if (fault !== undefined) return fault;
  const parts = templateParts(text, 'request');
  for (const part of parts) {
    const reason = 'placeholder' in part ? UNSUITABLE[part.placeholder.name] : undefined;
    if ('placeholder' in part && reason !== undefined) return `{${part.placeholder.name}} ${reason}`;
  }
  // A forgotten pair of braces would make all clients share one limit.
  if (isConstant(parts) && faultOfTemplate(`{${text}}`, 'request') === undefined) return `write {${text}} for the placeholder`;
  return undefined;
}
