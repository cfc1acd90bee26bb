import assert from 'node:assert/strict';
import { test } from 'node:test';
import { block, type Field } from '../../../testing/http2/frames.ts';
import { HpackDecoder } from '../hpack/decoder.ts';
import { RequestBlock, type RequestFault } from './request-block.ts';
import { TrailerBlock } from './trailer-block.ts';

const HEAD = [':method', 'GET', ':scheme', 'https', ':authority', 'a.test', ':path', '/x?y'];

const pairs = (raw: readonly string[]): Field[] => raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ''] as const] : []));

function decode(raw: readonly string[], sink: RequestBlock | TrailerBlock): void {
  const bytes = block(pairs(raw));
  sink.begin();
  assert.ok(new HpackDecoder(4_096).decode(bytes, 0, bytes.length, sink.lines, 65_536, sink));
}

/** The HTTP/1.1 form of a head, or why it is refused. */
function requestText(raw: readonly string[], ends: boolean): string | RequestFault {
  const sink = new RequestBlock();
  decode(raw, sink);
  return sink.finish(ends, () => 'id-1') ?? sink.lines.bytes.toString('latin1', sink.from, sink.to);
}

function written(raw: readonly string[], ends = true): string {
  const text = requestText(raw, ends);
  assert.ok(typeof text === 'string', typeof text === 'string' ? '' : text.reason);
  return text;
}

function trailerLines(raw: readonly string[]): string | null {
  const sink = new TrailerBlock();
  decode(raw, sink);
  return sink.finish('request');
}

test('an HTTP/2 head is written as the equivalent HTTP/1.1 head', () => {
  assert.equal(written([...HEAD, 'accept', '*/*']), 'GET /x?y HTTP/1.1\r\nHost: a.test\r\naccept: */*\r\n\r\n');
  assert.equal(written([':method', 'GET', ':path', '/', ':scheme', 'https', 'host', 'a.test']), 'GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
});

test('a body of unknown length is chunked, and one of known length is not', () => {
  assert.match(written(HEAD, false), /\r\ntransfer-encoding: chunked\r\n\r\n$/);
  assert.doesNotMatch(written([...HEAD, 'content-length', '5'], false), /transfer-encoding/);
  assert.doesNotMatch(written(HEAD, true), /transfer-encoding/);
});

test('cookie crumbs are joined in order (RFC 9113 8.2.3)', () => {
  const text = written([...HEAD, 'cookie', 'a=1', 'x', 'y', 'cookie', 'b=2', 'cookie', 'c=3; d=4']);
  assert.match(text, /\r\nx: y\r\ncookie: a=1; b=2; c=3; d=4\r\n\r\n$/);
  assert.equal(text.match(/cookie/g)?.length, 1);
});

const malformed: readonly [what: string, raw: readonly string[]][] = [
  ['a name in upper case (8.2)', [...HEAD, 'X-Up', 'a']],
  ['an empty name', [...HEAD, '', 'a']],
  ['a name with a space', [...HEAD, 'x y', 'a']],
  ['a name with a colon', [...HEAD, 'x:y', 'a']],
  ['a name beyond ASCII', [...HEAD, 'x\xe9', 'a']],
  ['a name with a line end', [...HEAD, 'x\r\ny', 'a']],
  ['a value with CR', [...HEAD, 'x', 'a\rb']],
  ['a value with LF', [...HEAD, 'x', 'a\nb']],
  ['a value with NUL', [...HEAD, 'x', 'a\0b']],
  ['a path with a line end', [...HEAD.slice(0, 6), ':path', '/\r\nX: y']],
  ['connection (8.2.2)', [...HEAD, 'connection', 'close']],
  ['keep-alive', [...HEAD, 'keep-alive', 'timeout=5']],
  ['proxy-connection', [...HEAD, 'proxy-connection', 'close']],
  ['transfer-encoding', [...HEAD, 'transfer-encoding', 'chunked']],
  ['upgrade', [...HEAD, 'upgrade', 'websocket']],
  ['te other than trailers', [...HEAD, 'te', 'gzip']],
  ['te with more than trailers', [...HEAD, 'te', 'trailers, gzip']],
  ['a pseudo-header field after a field (8.3)', [...HEAD.slice(0, 6), 'x', 'y', ':path', '/']],
  ['a pseudo-header field after the host', [...HEAD.slice(0, 6), 'host', 'a.test', ':path', '/']],
  ['a pseudo-header field after a cookie', [...HEAD.slice(0, 6), 'cookie', 'a', ':path', '/']],
  ['a pseudo-header field twice', [...HEAD, ':path', '/']],
  ['an unknown pseudo-header field', [...HEAD, ':foo', 'x']],
  ['a pseudo-header field of an answer', [...HEAD, ':status', '200']],
  [':protocol where it was not offered (RFC 8441 3)', [...HEAD, ':protocol', 'websocket']],
  ['no method (8.3.1)', HEAD.slice(2)],
  ['no scheme', [...HEAD.slice(0, 2), ...HEAD.slice(4)]],
  ['no path', HEAD.slice(0, 6)],
  ['a scheme that is not served', [':method', 'GET', ':scheme', 'ftp', ':authority', 'a.test', ':path', '/']],
  ['host twice', [...HEAD, 'host', 'a.test', 'host', 'a.test']],
  ['a host other than :authority', [...HEAD, 'host', 'b.test']],
];
for (const [what, raw] of malformed) {
  test(`${what} is malformed`, () => {
    const text = requestText(raw, true);
    assert.ok(typeof text !== 'string');
    assert.equal(text.status, 400);
  });
}

test('a Host that equals :authority in any letter case and te: trailers are valid', () => {
  assert.match(written([...HEAD, 'host', 'A.test', 'te', 'trailers']), /^GET \/x\?y HTTP\/1.1\r\nHost: a.test\r\nte: trailers\r\n\r\n$/);
});

const CONNECT = [':method', 'CONNECT', ':scheme', 'https', ':authority', 'a.test', ':path', '/chat'];

for (const [what, raw] of [
  ['CONNECT', [':method', 'CONNECT', ':authority', 'a.test:443']],
  ['extended CONNECT with a protocol that is not served', [...CONNECT, ':protocol', 'connect-udp']],
] as const)
  test(`${what} is refused as CONNECT is over HTTP/1.1`, () => {
    const text = requestText(raw, false);
    assert.equal(typeof text !== 'string' && text.status, 501);
  });

test('extended CONNECT is written as the equivalent upgrade (RFC 8441 5)', () => {
  const lines = 'sec-websocket-version: 13\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: MDAwMDAwMDAwMDAwaWQtMQ==\r\n';
  const raw = [...CONNECT, ':protocol', 'websocket', 'sec-websocket-version', '13', 'sec-websocket-key', 'mine'];
  assert.equal(written(raw, false), `GET /chat HTTP/1.1\r\nHost: a.test\r\n${lines}\r\n`);
});

for (const [what, raw, ends] of [
  ['ends', [], true],
  ['has a body', ['content-length', '5'], false],
] as const)
  test(`extended CONNECT that ${what} is malformed`, () => {
    const text = requestText([...CONNECT, ':protocol', 'websocket', ...raw], ends);
    assert.equal(typeof text !== 'string' && text.status, 400);
  });

test(':protocol without CONNECT is malformed', () => {
  const text = requestText([...HEAD, ':protocol', 'websocket'], true);
  assert.equal(typeof text !== 'string' && text.status, 400);
});

test('trailers obey the rules of HTTP/1.1: framing, routing and head-only fields are not passed on', () => {
  assert.equal(trailerLines(['grpc-status', '0', 'x-sum', '\xe9']), 'grpc-status: 0\r\nx-sum: \xe9\r\n');
  assert.equal(trailerLines(['x-sum', '1', 'authorization', 'Basic x', 'x-forwarded-for', '10.0.0.1']), 'x-sum: 1\r\n');
  for (const name of ['content-length', 'host', 'transfer-encoding', 'connection', ':path', 'X-Sum', 'x y', ''])
    assert.equal(trailerLines(['x', 'y', name, '1']), null, name);
  for (const value of ['a\nb', 'a\rb', 'a\0b', 'a\x01b']) assert.equal(trailerLines(['x', value]), null);
});
