import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { ServerHttp2Stream } from 'node:http2';
import { describe, test } from 'node:test';
import { connect as connectSecure } from 'node:tls';
import type { RouteInput } from '../../../shared/route.ts';
import { CODE, FLAG, FRAME, type Frames, head } from '../testing/http2/frames.ts';
import { cancelStream, cutStream, releaseStream } from '../testing/http2/stream-ends.ts';
import { Http2UpstreamFixture } from '../testing/http2/upstream.ts';
import { SecureFixture } from '../testing/proxy/secure-proxy.ts';
import { eventually, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { UpstreamFixture } from '../testing/test-upstream.ts';
import { field, Wire } from '../testing/wire.ts';

const PART = 'the first half';
const WHOLE = 100;
/** Longer than a body may stall (ms). */
const TOO_LONG = 61_000;

type Target = {
  readonly address: string;
  readonly http2: boolean;
  begin(): Promise<void>;
  /** Without waiting for the request's body. */
  beginEarly(): Promise<void>;
  cut(proxy: ProxyFixture): void;
  [Symbol.dispose](): void;
};
type Case = { readonly framing: string; readonly how: string; target(): Promise<Target> };

const timeLimit = (proxy: ProxyFixture): void => proxy.clock.pass(TOO_LONG);

async function overHttp1(framed: string, cut: (wire: Wire, proxy: ProxyFixture) => void): Promise<Target> {
  const upstream = await UpstreamFixture.start();
  let taken: Wire | null = null;
  return {
    address: upstream.address,
    http2: false,
    begin: async () => {
      taken = (await upstream.nextRequest()).wire;
      taken.send(framed);
    },
    beginEarly: async () => {
      taken = await upstream.accept();
      await taken.readHead();
      taken.send(framed);
    },
    cut: (proxy) => taken !== null && cut(taken, proxy),
    [Symbol.dispose]: () => upstream[Symbol.dispose](),
  };
}

async function overHttp2(length: boolean, cut: (stream: ServerHttp2Stream, proxy: ProxyFixture) => void): Promise<Target> {
  let begun: (stream: ServerHttp2Stream) => void = () => undefined;
  const asked = new Promise<ServerHttp2Stream>((resolve) => {
    begun = resolve;
  });
  const upstream = await Http2UpstreamFixture.serving(({ stream }) => {
    stream.respond({ ':status': 200, ...(length && { 'content-length': WHOLE }) });
    stream.write(PART);
    begun(stream);
  });
  let taken: ServerHttp2Stream | null = null;
  return {
    address: upstream.address,
    http2: true,
    begin: async () => {
      taken = await asked;
    },
    beginEarly: async () => {
      taken = await asked;
    },
    cut: (proxy) => taken !== null && cut(taken, proxy),
    [Symbol.dispose]: () => upstream[Symbol.dispose](),
  };
}

const FRAMED = {
  'a length': `HTTP/1.1 200 OK\r\nContent-Length: ${WHOLE}\r\n\r\n${PART}`,
  chunks: `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ne\r\n${PART}\r\n`,
  'half a chunk': `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n${PART}`,
  'the end of the connection': `HTTP/1.1 200 OK\r\n\r\n${PART}`,
} as const;
const ENDS: readonly [how: string, cut: (wire: Wire, proxy: ProxyFixture) => void][] = [
  ['a reset', (wire) => wire.reset()],
  ['the end of its connection', (wire) => wire.end()],
  ['silence', (_, proxy) => timeLimit(proxy)],
];
const RESETS: readonly [how: string, cut: (stream: ServerHttp2Stream, proxy: ProxyFixture) => void][] = [
  ['a reset that names an error', (stream) => cutStream(stream)],
  ['a reset with CANCEL', (stream) => cancelStream(stream)],
  ['a reset with NO_ERROR', (stream) => releaseStream(stream)],
  ['the end of its connection', (stream) => stream.session?.socket.destroy()],
  ['the end of its session', (stream) => stream.session?.destroy()],
  ['silence', (_, proxy) => timeLimit(proxy)],
];

const CASES: readonly Case[] = [
  ...Object.entries(FRAMED).flatMap(([framing, text]) =>
    ENDS.filter(([how]) => framing !== 'the end of the connection' || how !== 'the end of its connection').map(([how, cut]) => ({
      framing,
      how,
      target: () => overHttp1(text, cut),
    })),
  ),
  { framing: 'chunks', how: 'a malformed chunk', target: () => overHttp1(FRAMED.chunks, (wire) => wire.send('zz\r\n')) },
  ...[true, false].flatMap((length) =>
    RESETS.map(([how, cut]) => ({
      framing: `HTTP/2, ${length ? 'with' : 'without'} a length,`,
      how,
      target: () => overHttp2(length, cut),
    })),
  ),
];

const routeTo = (target: Target): RouteInput => ({ ...site('a.test', target), ...(target.http2 && { transport: { protocol: 'h2c' } }) });

/** Whether a client of HTTP/1.x takes the response for complete, by its framing (RFC 9112 6.3, 8). */
function looksWhole(wire: Wire, text: string): boolean {
  const end = text.indexOf('\r\n\r\n') + 4;
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(text.slice(0, end));
  if (length !== null) return text.length - end >= Number(length[1]);
  if (/\r\ntransfer-encoding: chunked\r\n/i.test(text.slice(0, end))) return text.endsWith('\r\n0\r\n\r\n');
  return !wire.failed;
}

async function cutForHttp1(wire: Wire, version: string, target: Target, proxy: ProxyFixture): Promise<void> {
  wire.send(`GET / HTTP/${version}\r\nHost: a.test\r\n\r\n`);
  await target.begin();
  await wire.until('the first half', () => wire.unread.includes(PART));
  target.cut(proxy);
  await wire.until('the end', () => wire.closed || wire.ended);
  const text = wire.unread;
  assert.match(text, /^HTTP\/1\.1 200 /);
  assert.equal(looksWhole(wire, text), false, text);
}

const endsStream = (client: Frames): boolean =>
  [...client.of(1, FRAME.data), ...client.of(1, FRAME.headers)].some(({ flags }) => (flags & FLAG.endStream) !== 0);

async function cutForHttp2(client: Frames, target: Target, proxy: ProxyFixture): Promise<void> {
  client.request(1, head());
  await target.begin();
  await client.until('the first half', () => Buffer.concat(client.of(1, FRAME.data).map(({ payload }) => payload)).includes(PART));
  target.cut(proxy);
  await client.until('the stream to be reset', () => client.resetCode(1) !== undefined);
  assert.equal(client.resetCode(1), CODE.internal);
  await client.answered();
  assert.equal(endsStream(client), false, 'a stream with END_STREAM is taken for complete (RFC 9113 8.1)');
  assert.equal(client.status(1), 200);
}

describe('a response that the upstream cuts off is visibly truncated', () => {
  for (const { framing, how, target: make } of CASES) {
    test(`with ${framing}, ended by ${how}`, async () => {
      for (const protocol of ['HTTP/1.1', 'HTTP/1.0', 'HTTP/1.1 over TLS', 'HTTP/2'] as const) {
        using target = await make();
        using secure = await SecureFixture.of([routeTo(target)]);
        const { proxy } = secure;
        if (protocol === 'HTTP/2') await cutForHttp2(await secure.greeted(), target, proxy);
        else if (protocol !== 'HTTP/1.1 over TLS') await cutForHttp1(await proxy.connect(), protocol.slice(5), target, proxy);
        else {
          const socket = connectSecure({ host: '127.0.0.1', port: proxy.securePort, ca: secure.ca, servername: 'a.test' });
          await cutForHttp1(new Wire(socket), '1.1', target, proxy);
          socket.destroy();
        }
      }
    });
  }
});

/** More than is read ahead of a response, and less than is read after it (bytes). */
const PIPELINED = 200_000;

test('a response that is cut off, and those before it, reach a client that reads later and has sent more than has been read', async () => {
  using target = await overHttp1(FRAMED.chunks, (wire) => wire.end());
  const body = 'x'.repeat(65_536);
  using proxy = await ProxyFixture.start([{ ...routeTo(target), handles: [{ path: '/fixed', respond: { status: 200, body } }] }]);
  const client = await proxy.connect();
  client.socket.pause();
  const fixed = get('/fixed');
  client.send(`${fixed.repeat(5)}${get()}${fixed.repeat(PIPELINED / fixed.length)}`);
  await target.begin();
  target.cut(proxy);
  await eventually('the end of the response', () =>
    proxy.log.lines.some(({ fields }) => 'failure' in fields && fields.failure === 'closed'),
  );
  client.socket.resume();
  for (let answer = 1; answer <= 5; answer++) assert.equal((await client.readAnswer()).body, body);
  const text = await client.readAll();
  assert.ok(text.endsWith(`${PART}\r\n`), text);
  assert.equal(looksWhole(client, text), false);
});

describe('over HTTP/2, END_STREAM is never sent before the reset of', () => {
  const SOCKET = head([':method', 'CONNECT'], [':protocol', 'websocket'], [':path', '/chat']);
  const answeredHalf = (client: Frames) => (): boolean => client.of(1, FRAME.data).some(({ payload }) => payload.includes(PART));
  const wasCut = async (client: Frames, ...codes: readonly number[]): Promise<void> => {
    await client.until('the stream to be reset', () => client.resetCode(1) !== undefined);
    assert.ok(codes.includes(client.resetCode(1) ?? -1), `${client.resetCode(1)}`);
    assert.equal(endsStream(client), false);
  };

  for (const [how, cut] of ENDS) {
    test(`a response that declines a WebSocket, ended by ${how}`, async () => {
      using target = await overHttp1(FRAMED['a length'].replace('200 OK', '403 Forbidden'), cut);
      using secure = await SecureFixture.of([routeTo(target)]);
      const client = await secure.greeted();
      client.request(1, SOCKET, 0);
      await target.begin();
      await client.until('the first half', answeredHalf(client));
      target.cut(secure.proxy);
      await wasCut(client, CODE.internal);
    });
  }

  test('a tunnel whose target disconnects without a close', async () => {
    using upstream = await UpstreamFixture.start();
    using secure = await SecureFixture.before(upstream);
    const client = await secure.greeted();
    client.request(1, SOCKET, 0);
    const { wire, request } = await upstream.nextRequest();
    const accept = createHash('sha1')
      .update(`${field(request.head, 'sec-websocket-key')}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64');
    wire.send(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n${PART}`,
    );
    await client.until('the first half', answeredHalf(client));
    wire.reset();
    await wasCut(client, CODE.cancel);
  });

  test('a response whose client sends malformed trailers or stops in the middle of its body', async () => {
    for (const how of ['trailers', 'silence']) {
      using target = await overHttp1(FRAMED['a length'], () => undefined);
      using secure = await SecureFixture.of([routeTo(target)]);
      const client = await secure.greeted();
      client.request(1, head([':method', 'POST']), 0);
      client.send(FRAME.data, 0, 1, 'half');
      await target.beginEarly();
      await client.until('the first half', answeredHalf(client));
      if (how === 'trailers') client.request(1, [['content-length', '4']]);
      else timeLimit(secure.proxy);
      if (how === 'trailers') await wasCut(client, CODE.protocol);
      else await wasCut(client, CODE.internal, CODE.cancel);
    }
  });
});
