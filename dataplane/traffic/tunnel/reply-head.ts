import type { IncomingMessage } from 'node:http';
import type { Fields } from '../codec/http1/fields.ts';
import { protocolsIn, withoutOws } from '../codec/http1/protocols.ts';
import { ResponseHead } from '../codec/http1/response-head.ts';
import type { HeadLimits } from '../codec/http1/response-head-reader.ts';
import { type AnswerFields, deferredFields, relayedFields } from '../exchange/answer-fields.ts';
import type { Exchange } from '../exchange/exchange.ts';

/** The head of a response, parsed by Node. */
export type NodeResponseHead = Pick<IncomingMessage, 'httpVersion' | 'rawHeaders' | 'statusCode' | 'statusMessage'>;

/** Parses the head of a target's response again, by the same rules as every other response; null if it violates them. */
export function replyHead(reply: NodeResponseHead, limits: HeadLimits, routed: AnswerFields | null): ResponseHead | null {
  const { httpVersion, statusCode, statusMessage, rawHeaders } = reply;
  let text = `HTTP/${httpVersion} ${statusCode} ${statusMessage}\r\n`;
  for (let at = 0; at < rawHeaders.length; at += 2) text += `${rawHeaders[at]}: ${rawHeaders[at + 1]}\r\n`;
  const bytes = Buffer.from(`${text}\r\n`, 'latin1');
  const head = new ResponseHead();
  head.fields.maxFields = limits.lines;
  if (bytes.length > limits.bytes) return null;
  return head.parse(bytes, 0, bytes.length, routed?.overrides ?? null) === null ? head : null;
}

/** Whether a response accepts the upgrade, to nothing but a protocol that was requested (RFC 9110 7.8). */
export function acceptsUpgrade({ status, fields }: ResponseHead, asked: string): boolean {
  if (status !== 101 || !fields.connectionUpgrade || fields.upgrade === null) return false;
  const chosen = protocolsIn(fields.upgrade);
  if (chosen === null || chosen.length === 0) return false;
  // Both lists may have thousands of elements.
  const requested = new Set(asked.toLowerCase().split(', '));
  return chosen.every((protocol) => requested.has(protocol.toLowerCase()));
}

/** The fields of a 101 for the client: those of any other response of the route, and those that an upgrade needs. */
export function switchingFields({ fields }: ResponseHead, x: Exchange): FieldsByName {
  const lines = `${switchedFields(x, fields.kept, fields)}Connection: Upgrade\r\nUpgrade: ${fields.upgrade}`.split('\r\n');
  return byName(lines.flatMap((line) => [line.slice(0, line.indexOf(':')), withoutOws(line.slice(line.indexOf(':') + 1))]));
}

/** The fields of an accepted upgrade, in any protocol, with those of the block. `lines` are the upstream's. */
export function switchedFields(x: Exchange, lines: string, answer: Fields): string {
  const routed = x.block?.fields;
  if (routed === undefined) return lines;
  const whole = deferredFields(routed, x, SWITCHING, relayedFields(routed, x, SWITCHING, lines, answer));
  return whole + x.affinityLine + x.authCookies + x.splitLine;
}

const SWITCHING = 101;

/** Every field with all of its values, under the spelling that came first: Node's parsed headers drop some. */
export type FieldsByName = Readonly<Record<string, string | readonly string[]>>;

/** `raw` alternates names and values. */
export function byName(raw: readonly string[]): FieldsByName {
  const names = new Map<string, string>();
  const fields: Record<string, string | string[]> = Object.create(null);
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [written, value] = [raw[at] as string, raw[at + 1] as string];
    const name = names.get(written.toLowerCase()) ?? written;
    names.set(written.toLowerCase(), name);
    const others = fields[name];
    if (others === undefined) fields[name] = value;
    else if (typeof others === 'string') fields[name] = [others, value];
    else others.push(value);
  }
  return fields;
}
