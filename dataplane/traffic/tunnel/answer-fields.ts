import type { IncomingMessage } from 'node:http';
import { type AnswerFields, ownFields } from '../policy/headers/headers.ts';

/** Fields between a target and us alone (RFC 9110 7.6.1); what an upgrade needs of them is said anew. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'te', 'transfer-encoding', 'upgrade'];

/** Makes the head of a target's answer into the one that the visitor gets: as for every other answer of the route. */
export function readdress(answer: IncomingMessage, routed: AnswerFields | null, secure: boolean): void {
  const { headers } = answer;
  const upgraded = answer.statusCode === 101 ? headers.upgrade : undefined;
  const nominated = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  for (const name of [...HOP_BY_HOP, ...nominated]) delete headers[name];
  for (const name of routed?.overrides?.values() ?? []) delete headers[name];
  for (const line of (routed === null ? '' : ownFields(routed, secure)).split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) headers[line.slice(0, colon).toLowerCase()] ??= line.slice(colon + 2);
  }
  headers.connection = upgraded === undefined ? 'close' : 'Upgrade';
  if (upgraded !== undefined) headers.upgrade = upgraded;
  // Whoever writes it out says `chunked` where it knows no length, and these have no body (RFC 9112 6.3).
  if (answer.statusCode === 204 || answer.statusCode === 304) headers['content-length'] = '0';
}
