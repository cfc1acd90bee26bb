import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { FrameTargetFixture } from '../../testing/http2/frame-target.ts';
import { block, CODE, type Field, FLAG, FRAME, Frames, frame, word } from '../../testing/http2/frames.ts';
import { h2c } from '../../testing/http2/upstream.ts';
import { eventually, get, type ProxyFixture } from '../../testing/proxy/test-proxy.ts';

/** The frames of a response on one stream. */
type Script = (stream: number) => readonly Buffer[];

const OK: Field = [':status', '200'];
const headers = (stream: number, flags: number, ...fields: readonly Field[]): Buffer =>
  frame(FRAME.headers, FLAG.endHeaders | flags, stream, block(fields));
const data = (stream: number, text: string, flags = 0): Buffer => frame(FRAME.data, flags, stream, text);

/** A response with these fields and a body, which ends as it should. */
const head =
  (...fields: readonly Field[]): Script =>
  (stream) => [headers(stream, 0, ...fields), data(stream, 'hello', FLAG.endStream)];
const also = (...fields: readonly Field[]): Script => head(OK, ...fields);
/** A response of these fields alone. */
const alone =
  (...fields: readonly Field[]): Script =>
  (stream) => [headers(stream, FLAG.endStream, ...fields)];
/** A response without a length, whose trailers are these. */
const trailing =
  (flags: number, ...fields: readonly Field[]): Script =>
  (stream) => [headers(stream, 0, OK), data(stream, 'hello'), headers(stream, flags, ...fields)];

let script: Script;
let target: FrameTargetFixture;
let proxy: ProxyFixture;
before(async () => {
  target = await FrameTargetFixture.serving((connection, stream) => connection.write(Buffer.concat(script(stream))));
  proxy = await h2c(target);
});
after(() => {
  proxy[Symbol.dispose]();
  target[Symbol.dispose]();
});

/** The next request on the target's connection is answered: only the stream was refused. */
async function goesOn(): Promise<void> {
  script = also(['content-length', '5']);
  const before = target.connections.length;
  assert.equal((await proxy.request(get())).body, 'hello');
  assert.equal(target.connections.length, before);
}

/** With which code the proxy has reset the last stream of the target. */
function resetCode(): number | undefined {
  const resets = target.connections.at(-1)?.received.filter(({ type }) => type === FRAME.reset) ?? [];
  return resets.at(-1)?.payload.readUInt32BE(0);
}

describe('a response is refused with 502, and its stream is reset, if', () => {
  const rows: readonly [what: string, script: Script][] = [
    ['a name is in upper case (RFC 9113 8.2.1)', also(['X-Up', 'a'])],
    ['a name has a space', also(['x y', 'a'])],
    ['a name is empty', also(['', 'a'])],
    ['a name has a colon', also(['x:y', 'a'])],
    ['a name has a line end', also(['x\r\ny', 'a'])],
    ['a name is beyond ASCII', also(['x\xe9', 'a'])],
    ['a value has a line end', also(['x-bad', 'a\r\nSet-Cookie: b'])],
    ['a value has NUL', also(['x-bad', 'a\0b'])],
    ['a value has a control character', also(['x-bad', 'a\x01b'])],
    ['a value begins with white space', also(['x-bad', ' a'])],
    ['a value ends with white space', also(['x-bad', 'a\t'])],
    ['it has connection (8.2.2)', also(['connection', 'close'])],
    ['it has keep-alive', also(['keep-alive', 'timeout=5'])],
    ['it has proxy-connection', also(['proxy-connection', 'close'])],
    ['it has transfer-encoding', also(['transfer-encoding', 'chunked'])],
    ['it has upgrade', also(['upgrade', 'h2c'])],
    ['it has no :status (8.3.2)', head(['x', 'y'])],
    ['it has :status twice', head(OK, OK)],
    ['it has two different :status', head(OK, [':status', '404'])],
    [':status follows a regular field', head(['x', 'y'], OK)],
    [':status has two digits', head([':status', '20'])],
    [':status has four digits', head([':status', '2000'])],
    [':status is not a number', head([':status', 'abc'])],
    [':status is below 100', head([':status', '099'])],
    [':status is empty', head([':status', ''])],
    ['it has a pseudo-header field of a request', also([':path', '/'])],
    ['it has an unknown pseudo-header field', also([':foo', 'x'])],
    ['it switches protocols (8.6)', alone([':status', '101'])],
    ['it is interim and ends the stream (8.1)', alone([':status', '103'])],
    ['it begins with DATA (8.1)', (stream) => [data(stream, 'hello', FLAG.endStream)]],
    ['its content-length is there twice', also(['content-length', '5'], ['content-length', '6'])],
    ['its content-length is a list', also(['content-length', '5, 6'])],
    ['its content-length has a sign', also(['content-length', '+5'])],
    ['its content-length is beyond 2^53-1', also(['content-length', '99999999999999999999'])],
    ['its content-length is not 0 and END_STREAM is with the head (8.1.1)', alone(OK, ['content-length', '5'])],
    ['one of its interim responses is malformed', (stream) => [headers(stream, 0, [':status', '103'], ['X-Up', 'a']), ...also()(stream)]],
    [
      'it has more than 32 interim responses',
      (stream) => [...Array.from({ length: 33 }, () => headers(stream, 0, [':status', '103'])), ...also()(stream)],
    ],
  ];
  for (const [what, malformed] of rows)
    test(what, async () => {
      script = malformed;
      const client = await proxy.connect();
      client.send(get());
      await client.until('the final response', () => / [2-9]\d\d [\s\S]*\r\n\r\n/.test(client.unread));
      assert.match(client.unread, /^(?:HTTP\/1.1 103 .*\r\n\r\n)*HTTP\/1.1 502 /);
      assert.doesNotMatch(client.unread, /x-bad|x-up|hello/i);
      await eventually('the stream to be reset', () => resetCode() !== undefined);
      assert.equal(resetCode(), CODE.protocol);
      await goesOn();
    });
});

describe('a response is cut off for the client, over both protocols, if', () => {
  const rows: readonly [what: string, script: Script][] = [
    [
      'it is longer than its content-length',
      (stream) => [headers(stream, 0, OK, ['content-length', '3']), data(stream, 'hello', FLAG.endStream)],
    ],
    [
      'it is longer by its last piece',
      (stream) => [headers(stream, 0, OK, ['content-length', '8']), data(stream, 'hello'), data(stream, 'hello', FLAG.endStream)],
    ],
    [
      'it is shorter than its content-length',
      (stream) => [headers(stream, 0, OK, ['content-length', '9']), data(stream, 'hello', FLAG.endStream)],
    ],
    [
      'it is shorter, and has trailers',
      (stream) => [headers(stream, 0, OK, ['content-length', '9']), data(stream, 'hello'), headers(stream, FLAG.endStream, ['x', 'y'])],
    ],
    ['its trailers do not end the stream (8.1)', trailing(0, ['x-sum', '7'])],
    ['its trailers have a pseudo-header field', trailing(FLAG.endStream, OK)],
    ['its trailers have a name in upper case', trailing(FLAG.endStream, ['X-Up', 'a'])],
    ['its trailers have a value with a line end', trailing(FLAG.endStream, ['x-bad', 'a\r\nb: c'])],
    ['its trailers have a value with NUL', trailing(FLAG.endStream, ['x-bad', 'a\0b'])],
    ['its trailers describe a connection', trailing(FLAG.endStream, ['connection', 'close'])],
    ['its trailers have a length', trailing(FLAG.endStream, ['content-length', '5'])],
    ['a second head follows the first', (stream) => [headers(stream, 0, OK), ...also()(stream)]],
  ];
  for (const [what, malformed] of rows)
    test(what, async () => {
      script = malformed;
      const client = await proxy.connect();
      client.send(get());
      await client.until('the end', () => client.closed || client.ended);
      const [length] = /(?<=Content-Length: )\d+/.exec(client.unread) ?? [];
      const body = client.unread.slice(client.unread.indexOf('\r\n\r\n') + 4);
      assert.ok(length === undefined ? !body.endsWith('0\r\n\r\n') : body.length < Number(length), client.unread);
      assert.doesNotMatch(body, /x-bad|x-up|connection/i);
      using speaker = (await Frames.plain(proxy.port)).greet();
      speaker.request(1);
      await speaker.until('a reset', () => speaker.resetCode(1) !== undefined);
      assert.ok(!speaker.received.some(({ stream, flags, type }) => stream === 1 && type !== FRAME.reset && (flags & FLAG.endStream) > 0));
      await goesOn();
    });
});

describe('a response without a body may have none:', () => {
  for (const [what, method, status] of [
    ['204', 'GET', '204'],
    ['304', 'GET', '304'],
    ['a response to HEAD', 'HEAD', '200'],
  ] as const)
    test(what, async () => {
      script = head([':status', status]);
      const client = await proxy.connect();
      client.send(get().replace('GET', method));
      await client.until('the head', () => client.unread.includes('\r\n\r\n'));
      script = also(['content-length', '5']);
      client.send(get('/next'));
      await client.until('the next answer or the end', () => client.closed || client.ended || client.unread.endsWith('hello'));
      const rest = client.unread.slice(client.unread.indexOf('\r\n\r\n') + 4);
      assert.match(rest, /^(?:HTTP\/1.1 200 [\s\S]*\r\n\r\nhello)?$/);
      await goesOn();
    });
});

describe('the connection ends with GOAWAY, and the request is answered with 502, if', () => {
  for (const [what, broken, code] of [
    [
      'it pushes although that is disabled (8.4)',
      (stream) => [frame(FRAME.pushPromise, FLAG.endHeaders, stream, Buffer.concat([word(2), block([])]))],
      CODE.protocol,
    ],
    [
      'a header block is not decodable',
      (stream) => [frame(FRAME.headers, FLAG.endHeaders, stream, '\xff\xff\xff\xff\xff\xff\xff')],
      CODE.compression,
    ],
    ['a frame is too large', (stream) => [frame(FRAME.data, 0, stream, Buffer.alloc(16_385))], CODE.frameSize],
    ['a frame is of a stream that was never opened', (stream) => [data(stream + 100, 'hello')], CODE.protocol],
    ['a window opens beyond 2^31-1', () => [frame(FRAME.windowUpdate, 0, 0, word(2 ** 31 - 1))], CODE.flowControl],
    ['SETTINGS are not a multiple of 6 bytes', () => [frame(FRAME.settings, 0, 0, 'x')], CODE.frameSize],
    ['SETTINGS enable push (6.5.2)', () => [frame(FRAME.settings, 0, 0, Buffer.from([0, 2, 0, 0, 0, 1]))], CODE.protocol],
  ] as readonly [string, Script, number][])
    test(what, async () => {
      script = broken;
      const { length } = target.connections;
      assert.match((await proxy.request(get())).line, / 502 /);
      const connection = target.connections.at(-1);
      await eventually('the end', () => connection?.closed === true);
      assert.equal(connection?.goneCode, code);
      script = also(['content-length', '5']);
      assert.equal((await proxy.request(get())).body, 'hello');
      assert.ok(target.connections.length > length);
    });
});
