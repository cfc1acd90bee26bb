import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FRAME } from '../../../testing/http2/frames.ts';
import { inputsOf } from '../../http1/oracle/testing/differential.ts';
import type { SampleRandom } from '../../http1/oracle/testing/sample-random.ts';
import type { ConnectionReading } from './testing/connection-reading.ts';
import { Nghttp2Server } from './testing/nghttp2-server.ts';
import { OurServer } from './testing/our-server.ts';
import { requestBytes, SampleConnections } from './testing/sample-connections.ts';
import { acknowledgesNothing, type LooseFrame, shown } from './testing/sample-frames.ts';
import { type SplitSample, splitAnywhere, splitEverywhere } from './testing/split-reading.ts';

const CONNECTIONS = 4_000;
const CUT_EVERYWHERE = 200;
/** Further connections that are only compared with themselves. */
const CUT = 20_000;

/**
 * We answer the client's GOAWAY with our own and ignore what it sends on further streams (RFC 9113 6.8), which nghttp2 reads. Where GOAWAY
 * names a stream that a server can't have opened, the RFC lets the connection continue, and Node ends it.
 */
const goesAway = (frames: readonly LooseFrame[]): boolean => frames.some(({ type, stream }) => type === FRAME.goAway && stream === 0);

/** What is wrong with our reading if nghttp2 is right. We may refuse more, and end a stream where nghttp2 ends the connection. */
function disagreement(frames: readonly LooseFrame[], ours: ConnectionReading, theirs: ConnectionReading): string | null {
  if (ours.gone !== null) return null;
  if (theirs.gone !== null && (acknowledgesNothing(frames) || goesAway(frames))) return null;
  if (theirs.gone !== null) return ours.resets.size > 0 ? null : `we go on, and nghttp2 ends the connection with ${theirs.gone}`;
  for (const [stream, our] of ours.messages) {
    if (!our.complete) continue;
    const their = theirs.messages.get(stream);
    if (their === undefined || theirs.resets.has(stream)) return `we accept stream ${stream}, and nghttp2 does not`;
    if (!their.complete) return `we have all of stream ${stream}, and nghttp2 waits`;
    for (const part of ['head', 'body', 'trailers'] as const)
      if (our[part] !== their[part]) return `${part} of stream ${stream}: ${JSON.stringify([our[part], their[part]])}`;
  }
  return null;
}

test('nghttp2 accepts the requests that we accept, and reads the same in them, in any frames', async (t) => {
  const counts = { alike: 0, refused: 0, gone: 0 };
  for (const { random, failed } of inputsOf(t, CONNECTIONS)) {
    const frames = new SampleConnections(random).frames();
    const bytes = requestBytes(frames);
    using server = new Nghttp2Server();
    try {
      const theirs = await server.read(bytes);
      const ours = new OurServer().read(bytes, []);
      const wrong = disagreement(frames, ours, theirs);
      assert.equal(wrong, null, `${wrong}\n${shown(frames)}`);
      if (ours.gone !== null) counts.gone++;
      else if (ours.resets.size > 0) counts.refused++;
      else counts.alike++;
    } catch (error) {
      throw failed(error);
    }
  }
  const { alike, refused, gone } = counts;
  t.diagnostic(`${alike} connections read alike, ${refused} with refused requests, ${gone} ended with an error`);
  assert.ok(alike > (alike + refused + gone) / 4 && refused > 0 && gone > 0, 'the inputs are unbalanced');
});

/** A random connection of a client. */
function sample(random: SampleRandom): SplitSample {
  const bytes = requestBytes(new SampleConnections(random).frames());
  return { bytes, read: (cuts) => new OurServer().read(bytes, cuts) };
}

test('requests are read alike wherever the bytes of their connection are split', (t) => splitAnywhere(t, CUT, sample));

test('some of them are split at every place, and into single bytes', (t) => splitEverywhere(t, CUT_EVERYWHERE, sample));
