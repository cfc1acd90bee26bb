import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SecureFixture } from '../proxy/secure-proxy.ts';
import { ok, UpstreamFixture } from '../test-upstream.ts';
import { type Field, FLAG, FRAME, Frames, head } from './frames.ts';

/** The outcome that a claim promises. */
type Outcome = (client: Frames, upstream: UpstreamFixture) => Promise<void>;
/** The actions of a client on a connection on which the preface and SETTINGS have been exchanged. */
type Deed = (client: Frames) => unknown;
export type Claim = readonly [what: string, deed: Deed, outcome: Outcome];

/** A path that is not answered. */
export const UNANSWERED: Field = [':path', '/unanswered'];
export const POST: Field = [':method', 'POST'];

const isEnd = ({ flags }: { readonly flags: number }): boolean => (flags & FLAG.endStream) > 0;

/** Waits for the end of a response. */
export const complete = (client: Frames, stream: number): Promise<void> =>
  client.until('the end of the response', () => [...client.of(stream, FRAME.headers), ...client.of(stream, FRAME.data)].some(isEnd));

/** The connection goes on as if nothing had happened. */
export const ignored: Outcome = async (client) => {
  await client.answered();
  assert.equal(client.goneCode, undefined);
  assert.equal(
    client.received.find(({ type }) => type === FRAME.reset),
    undefined,
  );
};

/** The stream's request is answered, and the connection stays usable. */
export const answered =
  (stream = 1, status = 200): Outcome =>
  async (client) => {
    await client.until('an answer', () => client.status(stream) !== undefined || client.resetCode(stream) !== undefined);
    assert.equal(client.status(stream), status);
    await client.answered();
    assert.equal(client.goneCode, undefined);
  };

/** As `answered`, and the last request's head and body as the upstream received them contain `text`. */
export const forwarded =
  (text: string | RegExp): Outcome =>
  async (client, upstream) => {
    await answered()(client, upstream);
    const { head: received = '', body = '', trailers = '' } = upstream.requests.at(-1) ?? {};
    assert.match(received + body + trailers, text instanceof RegExp ? text : new RegExp(text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')));
  };

/** The connection ends with GOAWAY and one of these codes (RFC 9113 5.4.1). */
export const connectionError =
  (...codes: readonly number[]): Outcome =>
  async (client) => {
    await client.until('the end', () => client.closed);
    assert.ok(codes.includes(client.goneCode ?? -1), `GOAWAY with ${client.goneCode}`);
  };

/** Only the stream ends, with one of these codes (RFC 9113 5.4.2), and the connection serves the next one. */
export const streamError =
  (stream: number, ...codes: readonly number[]): Outcome =>
  async (client) => {
    await client.until('a reset', () => client.resetCode(stream) !== undefined);
    assert.ok(codes.includes(client.resetCode(stream) ?? -1), `RST_STREAM with ${client.resetCode(stream)}`);
    const next = stream + 100;
    client.request(next);
    await client.until('the next answer', () => client.status(next) === 200);
    assert.equal(client.goneCode, undefined);
  };

/** Either of the two: a receiver may treat any stream error as a connection error (RFC 9113 5.4.2). */
export const anyError =
  (stream: number, ...codes: readonly number[]): Outcome =>
  async (client, upstream) => {
    await client.until('a reset or the end', () => client.resetCode(stream) !== undefined || client.closed);
    return (client.closed ? connectionError(...codes) : streamError(stream, ...codes))(client, upstream);
  };

/** A response of one line, so that a window of a few bytes cuts it. */
const answer = ({ line, body }: { readonly line: string; readonly body: string }): string | null => {
  if (line.includes('/unanswered')) return null;
  if (line.startsWith('HEAD')) return 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n';
  return ok(`hello${body}`);
};

/** Makes each claim a test, over TLS and without. */
export function claims(section: string, rows: readonly Claim[]): void {
  describe(section, () => {
    let upstream: UpstreamFixture;
    let secure: SecureFixture;
    before(async () => {
      upstream = await UpstreamFixture.serving(answer);
      secure = await SecureFixture.before(upstream);
    });
    after(() => {
      secure[Symbol.dispose]();
      upstream[Symbol.dispose]();
    });
    const connect = { 'over TLS': () => secure.connect(), 'without TLS': () => Frames.plain(secure.proxy.port) };
    for (const [transport, opened] of Object.entries(connect))
      for (const [what, deed, outcome] of rows)
        test(`${what}, ${transport}`, async () => {
          using client = (await opened()).greet();
          await client.answered();
          await deed(client);
          await outcome(client, upstream);
        });
  });
}

/** The head of a request for `a.test` with these fields, and its body if there is one. */
export function ask(client: Frames, stream: number, fields: readonly Field[] = [], body?: string): Frames {
  client.request(stream, head(...fields), body === undefined ? FLAG.endStream : 0);
  return body === undefined ? client : client.send(FRAME.data, FLAG.endStream, stream, body);
}
