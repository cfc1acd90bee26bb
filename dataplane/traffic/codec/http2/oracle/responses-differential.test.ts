import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FRAME } from '../../../testing/http2/frames.ts';
import { inputsOf } from '../../http1/oracle/testing/differential.ts';
import type { SampleRandom } from '../../http1/oracle/testing/sample-random.ts';
import type { ConnectionReading, ResponseReading } from './testing/connection-reading.ts';
import { Nghttp2Requester } from './testing/nghttp2-requester.ts';
import { OurClient } from './testing/our-client.ts';
import { acknowledgesNothing, type LooseFrame, shown } from './testing/sample-frames.ts';
import { responseBytes, SampleResponses } from './testing/sample-responses.ts';
import { type SplitSample, splitAnywhere, splitEverywhere } from './testing/split-reading.ts';

type Reading = ConnectionReading<ResponseReading>;

const CONNECTIONS = 4_000;
const CUT_EVERYWHERE = 200;
/** Further connections that are only compared with themselves. */
const CUT = 20_000;

/** The methods of the requests of a connection, and the frames of the target. */
function sample(random: SampleRandom): { methods: string[]; frames: LooseFrame[] } {
  const methods = Array.from({ length: 1 + random.below(4) }, () => (random.once(4) ? 'HEAD' : 'GET'));
  return { methods, frames: new SampleResponses(random, methods).frames() };
}

/** Node may end a connection after GOAWAY before it has passed on all that has come. */
const goesAway = (frames: readonly LooseFrame[]): boolean => frames.some(({ type, stream }) => type === FRAME.goAway && stream === 0);

/**
 * A server must not send Content-Length with 1xx and 204 (RFC 9110 8.6). nghttp2 takes a length of 0 away and refuses the others. We accept
 * the response, and no client gets the field.
 */
const hasUselessLength = ({ interim, head }: ResponseReading): boolean =>
  [...interim, head].some((text) => /^HTTP\/1.1 (?:1|204)/.test(text) && text.includes('\r\ncontent-length: '));

/** A response may have Content-Length several times with the same value (RFC 9110 8.6), over either protocol. nghttp2 refuses it. */
const repeatsLength = ({ head }: ResponseReading): boolean => /\r\n(content-length: \d+\r\n)(?:.*\r\n)*\1/.test(head);

/** What is wrong with our reading if nghttp2 is right. We may refuse more, and end a stream where nghttp2 ends the connection. */
function disagreement(frames: readonly LooseFrame[], ours: Reading, theirs: Reading): string | null {
  if (ours.gone !== null || goesAway(frames)) return null;
  if (theirs.gone !== null && acknowledgesNothing(frames)) return null;
  if (theirs.gone !== null) return ours.resets.size > 0 ? null : `we go on, and nghttp2 ends the connection with ${theirs.gone}`;
  for (const [stream, our] of ours.messages) {
    if (!our.complete || hasUselessLength(our) || repeatsLength(our)) continue;
    const their = theirs.messages.get(stream);
    if (their === undefined || theirs.resets.has(stream)) return `we accept the response on stream ${stream}, and nghttp2 does not`;
    if (!their.complete) return `we have all of the response on stream ${stream}, and nghttp2 waits`;
    for (const part of ['interim', 'head', 'body', 'trailers'] as const)
      if (String(our[part]) !== String(their[part])) return `${part} of stream ${stream}: ${JSON.stringify([our[part], their[part]])}`;
  }
  return null;
}

test('nghttp2 accepts the responses that we accept, and reads the same in them, in any frames', async (t) => {
  const counts = { alike: 0, refused: 0, gone: 0 };
  for (const { random, failed } of inputsOf(t, CONNECTIONS)) {
    const { methods, frames } = sample(random);
    const bytes = responseBytes(frames);
    using client = new Nghttp2Requester(methods);
    try {
      const theirs = await client.read(bytes);
      const ours = new OurClient(methods).read(bytes, []);
      const wrong = disagreement(frames, ours, theirs);
      assert.equal(wrong, null, `${wrong}\n${methods}\n${shown(frames)}`);
      if (ours.gone !== null) counts.gone++;
      else if (ours.resets.size > 0) counts.refused++;
      else counts.alike++;
    } catch (error) {
      throw failed(error);
    }
  }
  const { alike, refused, gone } = counts;
  t.diagnostic(`${alike} connections read alike, ${refused} with refused responses, ${gone} ended with an error`);
  assert.ok(alike > (alike + refused + gone) / 5 && refused > 0 && gone > 0, 'the inputs are unbalanced');
});

/** A random connection of a target. */
function splitSample(random: SampleRandom): SplitSample {
  const { methods, frames } = sample(random);
  const bytes = responseBytes(frames);
  return { bytes, read: (cuts) => new OurClient(methods).read(bytes, cuts) };
}

test('responses are read alike wherever the bytes of their connection are split', (t) => splitAnywhere(t, CUT, splitSample));

test('some of them are split at every place, and into single bytes', (t) => splitEverywhere(t, CUT_EVERYWHERE, splitSample));
