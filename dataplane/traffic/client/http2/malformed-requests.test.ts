import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { block, CODE, type Field, FLAG, FRAME, type Frames, head } from '../../testing/http2/frames.ts';
import { SecureFixture } from '../../testing/proxy/secure-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

let upstream: UpstreamFixture;
let secure: SecureFixture;
before(async () => {
  upstream = await UpstreamFixture.serving(ok('x'));
  secure = await SecureFixture.before(upstream);
});
after(() => {
  secure[Symbol.dispose]();
  upstream[Symbol.dispose]();
});

const without = (name: string): Field[] => head().filter(([one]) => one !== name);
const post = (...fields: readonly Field[]): Field[] => head([':method', 'POST'], ...fields);
const RESET = 'reset';

/** The outcome of a request: the status of its response, or that its stream was reset as malformed. */
async function outcome(client: Frames): Promise<number | typeof RESET> {
  await client.until('an outcome', () => client.status(1) !== undefined || client.resetCode(1) !== undefined);
  if (client.status(1) !== undefined) return client.status(1) ?? 0;
  assert.equal(client.resetCode(1), CODE.protocol);
  return RESET;
}

describe('never reaches the upstream:', () => {
  const rows: readonly [what: string, fields: readonly Field[], expected: number | typeof RESET][] = [
    ['a name in upper case (RFC 9113 8.2.1)', head(['X-Up', 'a']), RESET],
    ['connection (8.2.2)', head(['connection', 'close']), RESET],
    ['keep-alive', head(['keep-alive', 'timeout=5']), RESET],
    ['proxy-connection', head(['proxy-connection', 'close']), RESET],
    ['transfer-encoding', head(['transfer-encoding', 'chunked']), RESET],
    ['upgrade', head(['upgrade', 'websocket']), RESET],
    ['te: gzip', head(['te', 'gzip']), RESET],
    ['te: trailers, gzip', head(['te', 'trailers, gzip']), RESET],
    ['host other than :authority (8.3.1)', head(['host', 'b.test']), RESET],
    ['host twice', [...without(':authority'), ['host', 'a.test'], ['host', 'a.test']], RESET],
    ['an empty host', head(['host', '']), RESET],
    ['neither host nor :authority', without(':authority'), RESET],
    ['no :method', without(':method'), RESET],
    ['no :scheme', without(':scheme'), RESET],
    ['no :path', without(':path'), RESET],
    [':path twice', [...head(), [':path', '/']], RESET],
    ['a pseudo-header field after a regular field', [...without(':path'), ['x', 'y'], [':path', '/']], RESET],
    ['an unknown pseudo-header field', [...head(), [':foo', 'x']], RESET],
    ['a pseudo-header field of an answer', [...head(), [':status', '200']], RESET],
    [':protocol that was not offered', [...head(), [':protocol', 'websocket']], RESET],
    ['an empty path', head([':path', '']), RESET],
    ['a path without its slash', head([':path', 'x']), RESET],
    ['an asterisk for another method than OPTIONS', head([':path', '*']), RESET],
    ['a path that is a whole URL', head([':path', 'http://b.test/x']), RESET],
    ['a path that is a whole URL with the same host', head([':path', 'http://a.test/x']), RESET],
    ['a path with a space', head([':path', '/a b']), RESET],
    ['a path with a line end', head([':path', '/a\r\nX: y']), RESET],
    ['a path with a fragment', head([':path', '/#f']), RESET],
    ['a path with a control character', head([':path', '/\x7f']), RESET],
    ['an unknown expectation', post(['expect', 'y 100-continue']), 417],
    ['two expectations', post(['expect', '100-continue'], ['expect', '100-continue']), 417],
    ['an empty expectation', post(['expect', '']), 417],
    ['a value that begins with a non-ASCII space', head(['user', '\x85admin']), 400],
    ['a value that ends with a non-ASCII space in UTF-8', head(['user', 'admin\xe2\x80\x83']), 400],
    ['a path beyond 8 KB', head([':path', `/${'a'.repeat(8_192)}`]), 414],
    ['a method that is not a token', head([':method', 'G T']), RESET],
    ['a method with a line end', head([':method', 'G\nT']), RESET],
    ['another scheme', head([':scheme', 'ftp']), 400],
    ['an authority with a user', head([':authority', 'user@a.test']), RESET],
    ['an authority with a path', head([':authority', 'a.test/x']), RESET],
    ['an authority with a line end', head([':authority', 'a.test\r\nX: y']), RESET],
    ['an authority that no certificate covers', head([':authority', 'b.test']), 421],
    [
      'CONNECT',
      [
        [':method', 'CONNECT'],
        [':authority', 'a.test:443'],
      ],
      501,
    ],
    ['content-length twice', post(['content-length', '0'], ['content-length', '0']), RESET],
    ['content-length that is a list', post(['content-length', '0, 0']), RESET],
    ['content-length that is not a number', post(['content-length', '+5']), RESET],
    ['content-length beyond 2^53-1', post(['content-length', '99999999999999999999']), RESET],
    ['content-length without a body', post(['content-length', '5']), RESET],
  ];
  for (const [what, fields, expected] of rows) {
    test(what, async () => {
      const client = await secure.greeted();
      const asked = upstream.requests.length;
      client.request(1, fields);
      assert.equal(await outcome(client), expected);
      assert.equal(upstream.requests.length, asked);
    });
  }
});

describe('a body and its content-length', () => {
  const body = (bytes: string, length: number): Promise<Frames> =>
    secure
      .greeted()
      .then((client) => client.request(1, post(['content-length', `${length}`]), 0).send(FRAME.data, FLAG.endStream, 1, bytes));

  test('agree', async () => assert.equal(await outcome(await body('hello', 5)), 200));

  for (const length of [6, 100_000]) {
    test(`a content-length of ${length} that is too large: the stream is reset, and no upstream takes the body for complete`, async () => {
      const asked = upstream.requests.length;
      assert.equal(await outcome(await body('hello', length)), RESET);
      assert.equal(upstream.requests.length, asked);
    });
  }

  for (const length of [0, 4]) {
    test(`a content-length of ${length} that is too small: the stream is reset, and the connection serves the next request`, async () => {
      const asked = upstream.requests.length;
      const client = await body('hello', length);
      assert.equal(await outcome(client), RESET);
      client.request(3);
      await client.until('the next answer', () => client.status(3) === 200);
      assert.equal(upstream.requests.length, asked + 1);
    });
  }
});

describe('trailers', () => {
  const trailing = async (...fields: readonly Field[]): Promise<Frames> => {
    const client = await secure.greeted();
    client.request(1, post(), 0).send(FRAME.data, 0, 1, 'hello');
    return client.send(FRAME.headers, FLAG.endHeaders | FLAG.endStream, 1, block(fields));
  };

  test('follow the body', async () => {
    assert.equal(await outcome(await trailing(['x-sum', '7'])), 200);
    assert.equal(upstream.requests.at(-1)?.trailers, 'x-sum: 7\r\n');
  });

  for (const [name, value] of [
    [':path', '/x'],
    ['content-length', '5'],
    ['transfer-encoding', 'chunked'],
    ['host', 'a.test'],
    ['connection', 'close'],
    ['X-Up', 'a'],
  ] as const) {
    test(`with ${name} reset the stream, and no upstream takes the body for complete`, async () => {
      const asked = upstream.requests.length;
      assert.equal(await outcome(await trailing(['x', 'y'], [name, value])), RESET);
      assert.equal(upstream.requests.length, asked);
    });
  }
});

describe('a request never reaches the upstream without one of its fields: it is malformed if', () => {
  for (const [what, name, value] of [
    ['its name has a space', 'x y', 'a'],
    ['its name has a colon', 'x:y', 'a'],
    ['its name is empty', '', 'a'],
    ['its name has a line end', 'x\r\ny', 'a'],
    ['its name is beyond ASCII', 'x\xe9', 'a'],
    ['its value has a line end', 'x-bad', 'a\r\nHost: b.test'],
    ['its value has a line feed', 'x-bad', 'a\nb'],
    ['its value has NUL', 'x-bad', 'a\0b'],
    ['its value has a control character', 'x-bad', 'a\x01b'],
    ['its value begins with white space', 'x-bad', ' a'],
    ['its value ends with white space', 'x-bad', 'a\t'],
  ] as const) {
    test(what, async () => {
      const client = await secure.greeted();
      const asked = upstream.requests.length;
      client.request(1, head([name, value], ['x-good', 'b']));
      assert.equal(await outcome(client), RESET);
      assert.equal(upstream.requests.length, asked);
    });
  }
});
