import { ALLOWANCES, type Allowance, type Difference } from './allowances.ts';
import { expectedOf, expectedTarget, linesOf } from './expectation.ts';
import type { TheirMessage, TheirReading } from './llhttp.ts';
import type { Direction, OurMessage, OurReading } from './reading.ts';

/**
 * Errors that don't concern the message itself: data after a message that closes the connection, or a connection that ends within a
 * message.
 */
const CLOSED = 'HPE_CLOSED_CONNECTION';
const BEYOND = new Set([CLOSED, 'HPE_INVALID_EOF_STATE']);

/**
 * What is wrong with our reading of `text` if llhttp is right; null if nothing is, or if every difference is allowed. We may refuse more,
 * and earlier. A message that we accept must have been accepted by llhttp and understood alike. Nothing is compared after an allowed
 * difference.
 */
export function disagreement(
  text: string,
  ours: OurReading,
  theirs: TheirReading,
  role: Direction,
  allowances: readonly Allowance[] = Object.values(ALLOWANCES),
): string | null {
  for (const [index, our] of ours.messages.entries()) {
    const their = theirs.messages[index];
    const last = index === ours.messages.length - 1;
    const error = index >= theirs.messages.length - 1 ? theirs.error : null;
    const wrong = their === undefined ? 'we accept its head' : wrongMessage(our, their, role, last && ours.fault !== null, error);
    if (wrong === null) continue;
    const difference: Difference = { our, their, error, text: text.slice(our.offset) };
    if (allowances.some((allowance) => allowance.applies(difference))) return null;
    return `message ${index}: ${wrong}; llhttp: ${error ?? 'no error'}`;
  }
  const waits = ours.fault === null && theirs.messages.length > ours.messages.length;
  const read = ours.messages.at(-1);
  if (waits && role === 'request' && (read === undefined || (read.complete && read.persists))) return 'we wait for a head that llhttp has';
  return null;
}

function wrongMessage(our: OurMessage, their: TheirMessage, role: Direction, refused: boolean, error: string | null): string | null {
  const wrong = wrongHead(our, their, role) ?? (refused ? wrongStart(our, their) : wrongBody(our, their, error));
  if (wrong !== null || !our.complete || (their.persists && error !== CLOSED)) return wrong;
  return (role === 'request' ? our.persists : our.status < 200) ? 'we continue after it' : null;
}

function wrongHead(our: OurMessage, their: TheirMessage, role: Direction): string | null {
  const expected = expectedOf(their.fields, role);
  if (their.major !== 1 || their.minor !== our.minor) return `version ${their.major}.${their.minor}`;
  if (our.method !== their.method) return `method ${their.method}`;
  if (our.status !== their.status) return `status ${their.status}`;
  if (role === 'request' && our.target !== expectedTarget(their.method, their.url)) return `target ${their.url}`;
  if (expected.host !== null && expected.host !== our.host) return `host ${expected.host}`;
  if (our.length !== expected.length) return `length ${expected.length}`;
  if (our.chunked !== expected.chunked) return `chunked ${expected.chunked}`;
  const persists = our.minor === 1 ? !expected.close : expected.keepAlive && !expected.close;
  if (our.persists !== persists) return `persists ${persists}`;
  // RFC 9110 10.1.1: HTTP/1.0 has no expectations.
  const lines = role === 'request' && our.minor === 0 ? expected.kept.filter((line) => !line.startsWith('expect: ')) : expected.kept;
  const kept = role === 'request' && expected.host === null ? [`host: ${our.host}`, ...lines] : lines;
  return differ(linesOf(our.kept), kept) ? `fields ${JSON.stringify(kept)}` : null;
}

function wrongBody(our: OurMessage, their: TheirMessage, error: string | null): string | null {
  if (our.body !== their.body) return `body ${JSON.stringify(their.body)}`;
  if (our.complete !== their.complete) return our.complete ? 'we have all of it' : 'we wait for more of it';
  if (!our.complete) return error === null || BEYOND.has(error) ? null : 'we read on';
  // Trailers obey the same rules in both directions.
  const trailers = expectedOf(their.trailers, 'request', true).kept;
  return differ(linesOf(our.trailers), trailers) ? `trailers ${JSON.stringify(trailers)}` : null;
}

/** If we refuse a body partway, the part that was passed on must be a prefix of the body. */
const wrongStart = (our: OurMessage, their: TheirMessage): string | null =>
  their.body.startsWith(our.body) ? null : `the body begins ${JSON.stringify(their.body)}`;

const differ = (ours: readonly string[], theirs: readonly string[]): boolean =>
  ours.length !== theirs.length || ours.some((line, at) => line !== theirs[at]);
