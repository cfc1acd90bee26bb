import { createServer, type Server, type Socket } from 'node:net';
import { targetKey } from '../../../ledger/targets.ts';
import { SampleRandom } from '../../codec/http1/oracle/testing/sample-random.ts';
import { block, CODE, type Field, FLAG, FRAME, Frames, frame, head, INITIAL_WINDOW, PREFACE, word } from '../http2/frames.ts';
import { stillCounted } from '../limits-at-rest.ts';
import { eventually, ProxyFixture, site } from '../proxy/test-proxy.ts';
import { Wire } from '../wire.ts';

/*
 * Test support, run as a separate process because the bugs it looks for end one. A worker runs between targets and clients that all speak
 * HTTP/2 as badly as they can: `node --expose-gc hostile-traffic.ts SEED EXCHANGES`. It prints how many responses there were. It collects
 * garbage often, because the library's native memory must be freed in a certain order (`shared/runtime/http/http2-session.ts`).
 */

const ACK = 1;
const FRAME_HEAD = 9;
/** Concurrent exchanges. */
const SIDE_BY_SIDE = 8;
const COLLECT_EVERY = 20;

type NonEmpty<T> = readonly [T, ...T[]];
const pick = <T>(random: SampleRandom, from: NonEmpty<T>): T => from[random.below(from.length)] ?? from[0];

const setting = (number: number, value: number): Buffer => Buffer.concat([Buffer.from([0, number]), word(value)]);
const many = Array.from({ length: 140 }, (_, at): Field => [`x-${at}`, 'y']);
const HEADS: NonEmpty<readonly Field[]> = [
  [[':status', '200']],
  [[':status', '200']],
  [
    [':status', '200'],
    ['content-length', '5'],
  ],
  [
    [':status', '200'],
    ['content-length', '500000'],
  ],
  [[':status', '600']],
  [[':status', '600']],
  [[':status', '000']],
  [[':status', '101']],
  [[':status', '103']],
  [[':status', '100']],
  [[':status', '199']],
  [[':status', '204']],
  [[':status', '304']],
  [[':status', '206']],
  [[':status', 'x']],
  [
    [':status', '200'],
    ['connection', 'close'],
  ],
  [
    [':status', '200'],
    ['X-Up', 'a'],
  ],
  [
    [':status', '200'],
    ['trailer', 'a'],
  ],
  [
    [':status', '200'],
    ['content-length', '5'],
    ['content-length', '6'],
  ],
  [
    [':status', '200'],
    ['te', 'gzip'],
  ],
  [
    [':status', '200'],
    [':status', '200'],
  ],
  [['x', 'y']],
  [[':status', '200'], ...many],
  [
    [':status', '200'],
    ['x-long', 'a'.repeat(9_000)],
  ],
];
const TRAILERS: NonEmpty<readonly Field[]> = [[['x-t', '1']], [['content-length', '5']], [[':status', '200']], [['connection', 'x']], many];

/** The first bytes of a target. Each of these is sent together with the end of its response, while the request's body is still open. */
const MALFORMED: NonEmpty<readonly Field[]> = [
  [[':status', '600']],
  [[':status', '200'], ...many],
  [[':status', '101']],
  [
    [':status', '200'],
    ['connection', 'close'],
  ],
  [
    [':status', '200'],
    ['content-length', '6'],
  ],
];
const EARLY = 40;
let answers = 0;

const earlyAndMalformed = (stream: number): Buffer =>
  Buffer.concat([
    frame(FRAME.headers, FLAG.endHeaders, stream, block(MALFORMED[answers % MALFORMED.length] ?? [])),
    frame(FRAME.data, FLAG.endStream, stream, 'hello'),
  ]);

/**
 * Then as many whose head is broken: by a frame that must not interrupt it, or split into more frames than the library accepts (RFC 9113
 * 6.10).
 */
const TORN = 2 * EARLY;
const TORN_HEAD = block([[':status', '200'], ...Array.from({ length: 350 }, (_, at): Field => [`x-${at}`, 'y'.repeat(50)])]);
const PIECE = 1_500;

function torn(stream: number): Buffer {
  const frames: Buffer[] = [];
  for (let at = 0; at < TORN_HEAD.length; at += PIECE) {
    const type = at === 0 ? FRAME.headers : FRAME.continuation;
    frames.push(frame(type, 0, stream, TORN_HEAD.subarray(at, at + PIECE)));
    if (answers % 3 === 0 && frames.length === 4) return Buffer.concat([...frames, frame(FRAME.goAway, 0, 0, Buffer.alloc(8))]);
    if (answers % 3 === 1 && frames.length === 4) return Buffer.concat([...frames, frame(FRAME.reset, 0, stream, word(CODE.cancel))]);
  }
  return Buffer.concat(frames);
}

function answerTo(random: SampleRandom, stream: number): Buffer {
  answers++;
  if (answers <= EARLY) return earlyAndMalformed(stream);
  return answers <= TORN ? torn(stream) : answer(random, stream);
}

/** Frames of a response, mostly of one response and mostly in order. */
function answer(random: SampleRandom, stream: number): Buffer {
  const frames: Buffer[] = [];
  const ends = (odds: number): number => (random.below(odds) === 0 ? FLAG.endStream : 0);
  for (let count = 1 + random.below(5); count > 0; count--)
    switch (random.below(14)) {
      case 0:
        frames.push(frame(FRAME.reset, 0, stream, word(random.below(14))));
        break;
      case 1:
        frames.push(frame(FRAME.windowUpdate, 0, pick(random, [0, stream]), word(pick(random, [0, 1, 100_000, 0x7fffffff]))));
        break;
      case 2:
        frames.push(frame(FRAME.settings, 0, 0, setting(pick(random, [1, 3, 4, 5, 6]), pick(random, [0, 1, 16_384, 1_000_000]))));
        break;
      case 3:
        frames.push(frame(FRAME.ping, 0, 0, Buffer.alloc(8)));
        break;
      case 4:
        frames.push(frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, stream, block(pick(random, TRAILERS))));
        break;
      case 5:
        if (random.below(4) === 0)
          frames.push(frame(FRAME.goAway, 0, 0, Buffer.concat([word(pick(random, [0, stream, 0x7fffffff])), word(random.below(3))])));
        break;
      case 6:
        if (random.below(4) === 0) frames.push(frame(FRAME.pushPromise, FLAG.endHeaders, stream, Buffer.concat([word(2), block(head())])));
        break;
      case 7:
      case 8:
      case 9:
        frames.push(frame(FRAME.data, ends(2), stream, Buffer.alloc(pick(random, [0, 5, 1_000, 16_384]))));
        break;
      default:
        frames.push(frame(FRAME.headers, FLAG.endHeaders | ends(4), stream, block(pick(random, HEADS))));
    }
  return Buffer.concat(frames);
}

/** A target that answers each head at once, in one packet or two, and does not always read on. */
function serve(socket: Socket, random: SampleRandom): void {
  let waiting: Buffer = Buffer.alloc(0);
  let greeted = false;
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    waiting = Buffer.concat([waiting, chunk]);
    if (!greeted && waiting.length >= PREFACE.length) {
      greeted = true;
      waiting = waiting.subarray(PREFACE.length);
      const settings = random.below(3) === 0 ? setting(INITIAL_WINDOW, pick(random, [0, 1, 100_000])) : Buffer.alloc(0);
      socket.write(frame(FRAME.settings, 0, 0, settings));
    }
    while (greeted && waiting.length >= FRAME_HEAD) {
      const length = waiting.readUIntBE(0, 3);
      if (waiting.length < FRAME_HEAD + length) return;
      const [type, flags, stream] = [waiting.readUInt8(3), waiting.readUInt8(4), waiting.readUInt32BE(5)];
      waiting = waiting.subarray(FRAME_HEAD + length);
      if (type === FRAME.settings && (flags & ACK) === 0) socket.write(frame(FRAME.settings, ACK, 0));
      if (type !== FRAME.headers && (type !== FRAME.data || random.below(4) > 0)) continue;
      socket.write(answerTo(random, stream));
      if (random.below(3) === 0) setImmediate(() => socket.writable && socket.write(answer(random, stream)));
      if (random.below(12) === 0) {
        socket.pause();
        setTimeout(() => socket.resume(), 20);
      }
      const farewell = random.below(80);
      if (farewell === 0) socket.destroy();
      else if (farewell === 1) socket.end();
    }
  });
}

const POST = 'POST / HTTP/1.1\r\nHost: a.test\r\n';
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

/** One request over HTTP/1.1 whose body may never end. @returns whether there was a response. */
async function askHttp1({ port }: ProxyFixture, random: SampleRandom): Promise<boolean> {
  const wire = await Wire.to(port);
  wire.send(
    pick(random, [
      `${POST}Content-Length: 1000000\r\n\r\nabc`,
      `${POST}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`,
      `${POST}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n`,
      `${POST}Content-Length: 3\r\n\r\nabc`,
      'GET / HTTP/1.1\r\nHost: a.test\r\n\r\n',
    ]),
  );
  if (random.below(2) === 0) wire.send(Buffer.alloc(pick(random, [10, 100_000, 400_000]), 'x'));
  await turn();
  if (random.below(3) === 0) wire.reset();
  for (let waited = 0; waited < 30 && !wire.closed && !wire.unread.includes('\r\n\r\n'); waited++) await turn();
  const answered = wire.unread.startsWith('HTTP/1.1 ');
  wire.socket.destroy();
  return answered;
}

/** A few requests over HTTP/2, mixed with other frames that a hostile client may send. @returns whether there was a response. */
async function askHttp2({ port }: ProxyFixture, random: SampleRandom): Promise<boolean> {
  using client = await Frames.plain(port);
  client.greet([INITIAL_WINDOW, pick(random, [0, 1, 65_535])]);
  let stream = 1;
  for (let count = 1 + random.below(4); count > 0; count--) {
    const method = pick(random, ['GET', 'POST', 'POST', 'HEAD', 'CONNECT']);
    const socket: Field[] = method === 'CONNECT' ? [[':protocol', 'websocket']] : [];
    const more = pick<readonly Field[]>(random, [
      [],
      [['trailer', 'x']],
      [['te', 'trailers']],
      [['expect', '100-continue']],
      [['content-length', '5']],
    ]);
    const fields = [[':method', method], [':scheme', 'http'], [':path', '/'], [':authority', 'a.test'], ...socket, ...more] as Field[];
    client.send(FRAME.headers, FLAG.endHeaders | (random.below(3) === 0 ? FLAG.endStream : 0), stream, block(fields));
    if (random.below(2) === 0)
      client.send(FRAME.data, random.below(3) === 0 ? FLAG.endStream : 0, stream, Buffer.alloc(pick(random, [0, 5, 16_384])));
    if (random.below(4) === 0) client.send(FRAME.headers, FLAG.endHeaders | FLAG.endStream, stream, block(pick(random, TRAILERS)));
    if (random.below(3) === 0) await turn();
    if (random.below(4) === 0) client.send(FRAME.reset, 0, stream, word(random.below(14)));
    if (random.below(6) === 0) client.send(FRAME.windowUpdate, 0, pick(random, [0, stream]), word(100_000));
    stream += 2;
  }
  for (let waited = 0; waited < 30 && !client.closed && client.of(1, FRAME.headers).length === 0; waited++) await turn();
  return client.of(1, FRAME.headers).length > 0;
}

async function play(seed: number, exchanges: number): Promise<number> {
  const random = new SampleRandom(seed);
  const server: Server = createServer((socket) => serve(socket, random));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const target = { address: `127.0.0.1:${address.port}` };
  const proxy = await ProxyFixture.start([{ ...site('a.test', target), transport: { protocol: 'h2c' } }]);
  let begun = 0;
  let answered = 0;
  await Promise.all(
    Array.from({ length: SIDE_BY_SIDE }, async () => {
      while (begun++ < exchanges) {
        if (await (random.below(2) === 0 ? askHttp1 : askHttp2)(proxy, random)) answered++;
        // Targets that have failed are tried again.
        if (begun % COLLECT_EVERY === 0) globalThis.gc?.();
        if (random.below(4) === 0) proxy.clock.pass(pick(random, [1_000, 15_000, 70_000]));
      }
    }),
  );
  const { inFlight, connections, targets } = proxy.ledger;
  const slot = targets.find(targetKey(target.address, false, null, 'h2c'));
  await eventually('nothing to be left', () => {
    proxy.clock.pass(10_000);
    return inFlight.total() === 0 && connections.sockets() === 0 && targets.inFlight(slot) === 0;
  });
  const left = stillCounted();
  if (left.length > 0) throw new Error(`limits still count ${left.join(' and ')}`);
  return answered;
}

const [seed = '1', exchanges = '100'] = process.argv.slice(2);
process.stdout.write(`${await play(Number(seed), Number(exchanges))}\n`);
process.exit();
