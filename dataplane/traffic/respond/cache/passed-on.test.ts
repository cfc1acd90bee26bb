import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FRAME, Frames, head, INITIAL_WINDOW } from '../../testing/http2/frames.ts';
import { cachingProxy } from '../../testing/proxy/caching-proxy.ts';
import { site } from '../../testing/proxy/test-proxy.ts';
import { UpstreamFixture } from '../../testing/test-upstream.ts';
import { Wire } from '../../testing/wire.ts';

const BYTES = 60_000;
const HEAD = `HTTP/1.1 200 OK\r\nCache-Control: private\r\nContent-Length: ${BYTES}\r\n\r\n`;

/** A client that has asked for a response of BYTES bytes, and reads none of its body before `read`. */
class LateReader implements Disposable {
  private readonly frames: Frames;

  private constructor(frames: Frames) {
    this.frames = frames;
  }

  static async ask(port: number): Promise<LateReader> {
    const frames = (await Frames.plain(port)).greet([INITIAL_WINDOW, 0]);
    frames.request(1, head([':path', '/late']));
    return new LateReader(frames);
  }

  head(): Promise<void> {
    return this.frames.until('the head', () => this.frames.status(1) === 200);
  }

  async read(): Promise<string> {
    this.frames.send(FRAME.windowUpdate, 0, 1, Buffer.from([0, 1, 0, 0]));
    const body = () => Buffer.concat(this.frames.of(1, FRAME.data).map(({ payload }) => payload));
    await this.frames.until('the body', () => body().length === BYTES);
    return body().toString('latin1');
  }

  [Symbol.dispose](): void {
    this.frames[Symbol.dispose]();
  }
}

describe('a response that the cache does not store reaches a client that reads late unchanged', () => {
  test('while another client gets another one over the same upstream connection', async () => {
    using upstream = await UpstreamFixture.start();
    using proxy = await cachingProxy({ ...site('a.test', upstream), cache: {} });
    using late = await LateReader.ask(proxy.port);
    const { wire } = await upstream.nextRequest();
    wire.send(HEAD);
    await late.head();
    wire.send('L'.repeat(BYTES));

    const other = await Wire.to(proxy.port);
    other.send('GET /other HTTP/1.1\r\nHost: a.test\r\n\r\n');
    // It is sent over the same connection, so the first response has been read to its end.
    await wire.readThrough('GET /other');
    wire.send(HEAD);
    await other.until('the head', () => other.unread.endsWith('\r\n\r\n'));
    wire.send('O'.repeat(BYTES));
    assert.equal((await other.readAnswer()).body, 'O'.repeat(BYTES));
    other.socket.destroy();

    assert.equal(await late.read(), 'L'.repeat(BYTES));
  });

  test('in several pieces', async () => {
    using upstream = await UpstreamFixture.start();
    using proxy = await cachingProxy({ ...site('a.test', upstream), cache: {} });
    using late = await LateReader.ask(proxy.port);
    const { wire } = await upstream.nextRequest();
    wire.send(HEAD);
    await late.head();
    const other = await Wire.to(proxy.port);
    const pieces = ['A', 'B', 'C'].map((letter) => letter.repeat(BYTES / 3));
    for (const piece of pieces) {
      wire.send(piece);
      // The worker reads what has arrived in this order, so after this response it has read the piece.
      other.send('GET / HTTP/1.1\r\nHost: unknown.test\r\n\r\n');
      await other.readAnswer();
    }
    other.socket.destroy();
    assert.equal(await late.read(), pieces.join(''));
  });
});
