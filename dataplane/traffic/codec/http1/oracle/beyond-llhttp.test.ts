import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAULT, type Fault } from '../fault.ts';
import { AnswerReader } from './testing/answer-reader.ts';
import { Llhttp } from './testing/llhttp.ts';
import { readCut } from './testing/reading.ts';
import { RequestReader } from './testing/request-reader.ts';

const H = 'Host: a\r\n';
/** What llhttp accepts even in its strictest mode, and we refuse. */
const REQUESTS: readonly [text: string, fault: Fault][] = [
  [`GET / HTTP/0.9\r\n${H}\r\n`, FAULT.badVersion],
  [`GET / HTTP/2.0\r\n${H}\r\n`, FAULT.badVersion],
  ['GET / HTTP/1.1\r\n\r\n', FAULT.badHost],
  [`GET / HTTP/1.1\r\n${H}${H}\r\n`, FAULT.badHost],
  [`GET / HTTP/1.1\r\n${H}Host: b\r\n\r\n`, FAULT.badHost],
  ['GET / HTTP/1.1\r\nHost: a b\r\n\r\n', FAULT.badHost],
  ['GET / HTTP/1.1\r\nHost: u@a\r\n\r\n', FAULT.badHost],
  ['GET / HTTP/1.1\r\nHost: a:99999\r\n\r\n', FAULT.badHost],
  ['GET / HTTP/1.1\r\nHost: a/b\r\n\r\n', FAULT.badHost],
  [`GET http://b/ HTTP/1.1\r\n${H}\r\n`, FAULT.hostDisagrees],
  [`GET /a#b HTTP/1.1\r\n${H}\r\n`, FAULT.badTarget],
  [`GET * HTTP/1.1\r\n${H}\r\n`, FAULT.badTarget],
  [`OPTIONS *a HTTP/1.1\r\n${H}\r\n`, FAULT.badTarget],
  [`GET x://a/ HTTP/1.1\r\n${H}\r\n`, FAULT.badTarget],
  [`POST / HTTP/1.0\r\n${H}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, FAULT.codingInOldVersion],
  [`POST / HTTP/1.1\r\n${H}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, FAULT.badCoding],
  [`POST / HTTP/1.1\r\n${H}Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, FAULT.badCoding],
  [`POST / HTTP/1.1\r\n${H}Content-Length: 00000000000000000\r\n\r\n`, FAULT.badLength],
  [`POST / HTTP/1.1\r\n${H}Content-Length: 9007199254740993\r\n\r\n`, FAULT.badLength],
  [`POST / HTTP/1.1\r\n${H}Connection: a b\r\n\r\n`, FAULT.badConnection],
  [`GET / HTTP/1.1\r\n${H}Upgrade: a b\r\n\r\n`, FAULT.badUpgrade],
  [`POST / HTTP/1.1\r\n${H}Transfer-Encoding: chunked\r\n\r\n0\r\nHost: b\r\n\r\n`, FAULT.badTrailer],
  [`POST / HTTP/1.1\r\n${H}Transfer-Encoding: chunked\r\n\r\n20000000000000\r\n`, FAULT.badChunk],
  [`POST / HTTP/1.1\r\n${H}Transfer-Encoding: chunked\r\n\r\n000000000000000\r\n\r\n`, FAULT.badChunk],
  [`POST / HTTP/1.1\r\n${H}Transfer-Encoding: chunked\r\n\r\n1;${'a'.repeat(256)}\r\n`, FAULT.longExtensions],
];

const ANSWERS: readonly [text: string, fault: Fault][] = [
  ['\r\n\r\nHTTP/1.1 200 OK\r\n\r\n', FAULT.badStatusLine],
  ['HTTP/0.9 200 OK\r\n\r\n', FAULT.badStatusLine],
  ['HTTP/2.0 200 OK\r\n\r\n', FAULT.badStatusLine],
  ['HTTP/1.1 000 OK\r\n\r\n', FAULT.badStatusLine],
  ['HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', FAULT.codingInOldVersion],
  ['HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n', FAULT.badCoding],
  ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n', FAULT.badCoding],
  ['HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n', FAULT.badCoding],
];

for (const [text, fault] of REQUESTS) {
  test(`llhttp accepts ${JSON.stringify(text.slice(0, 120))}, we refuse it: ${fault.reason}`, () => {
    assert.equal(new Llhttp('request').read(Buffer.from(text, 'latin1')).error, null);
    assert.equal(readCut(new RequestReader(), Buffer.from(text, 'latin1'), []).fault, fault);
  });
}

for (const [text, fault] of ANSWERS) {
  test(`llhttp accepts the response ${JSON.stringify(text)}, we refuse it: ${fault.reason}`, () => {
    assert.equal(new Llhttp('response').read(Buffer.from(text, 'latin1'), false, true).error, null);
    assert.equal(readCut(new AnswerReader('GET'), Buffer.from(text, 'latin1'), []).fault, fault);
  });
}
