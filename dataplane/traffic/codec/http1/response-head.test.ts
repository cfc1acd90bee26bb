import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAULT, type Fault } from './fault.ts';
import { faultOfPartialAnswer, ResponseHead } from './response-head.ts';

function parse(text: string): { readonly head: ResponseHead; readonly fault: Fault | null } {
  const head = new ResponseHead();
  return { head, fault: head.parse(Buffer.from(`before${text}after`, 'latin1'), 6, 6 + text.length, null) };
}

const partial = (text: string): Fault | null => faultOfPartialAnswer(Buffer.from(`before${text}after`, 'latin1'), 6, 6 + text.length);

const REFUSED: readonly [text: string, fault: Fault][] = [
  ['\r\n\r\n', FAULT.badStatusLine],
  ['SSH-2.0-OpenSSH_9.2\r\n\r\n', FAULT.badStatusLine],
  ['HTTP/0.9 200 OK\r\n\r\n', FAULT.badStatusLine],
  ['HTTP/1.2 200 OK\r\n\r\n', FAULT.badStatusLine],
  ['HTTP/2.0 200 OK\r\n\r\n', FAULT.badStatusLine],
  ['http/1.1 200 OK\r\n\r\n', FAULT.badStatusLine],
  ['ICY 200 OK\r\n\r\n\r\n', FAULT.badStatusLine],
  [' HTTP/1.1 200 OK\r\n\r\n', FAULT.badStatusLine],
  ['HTTP/1.1  200 OK\r\n\r\n', FAULT.badStatusLine],
  ['HTTP/1.1 20 OK\r\n\r\n', FAULT.badStatusLine],
  ['HTTP/1.1 2000 OK\r\n\r\n', FAULT.badStatusLine],
  ['HTTP/1.1 099 OK\r\n\r\n', FAULT.badStatusLine],
  ['HTTP/1.1 +20 OK\r\n\r\n', FAULT.badStatusLine],
  ['HTTP/1.1 200OK\r\n\r\n', FAULT.badStatusLine],
  ['HTTP/1.1 200 OK\n\r\n\r\n', FAULT.bareLineEnd],
  ['HTTP/1.1 200 a\0\r\n\r\n', FAULT.badStatusLine],
  ['HTTP/1.1 200 a\rb\r\n\r\n', FAULT.badStatusLine],
  ['HTTP/1.1 200 OK\r\n a: b\r\n\r\n', FAULT.foldedLine],
  ['HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', FAULT.badLength],
  ['HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', FAULT.lengthAndCoding],
  ['HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n', FAULT.badCoding],
  ['HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', FAULT.codingInOldVersion],
];

for (const [text, fault] of REFUSED) {
  test(`${JSON.stringify(text)} is refused: ${fault.reason}`, () => assert.equal(parse(text).fault, fault));
}

const ACCEPTED: readonly [text: string, status: number, reason: string, minor: number][] = [
  ['HTTP/1.1 200 Fine\r\n\r\n', 200, 'OK', 1],
  ['HTTP/1.1 404 Not Found\r\nA: b\r\n\r\n', 404, 'Not Found', 1],
  ['HTTP/1.1 404 \r\n\r\n', 404, '', 1],
  ['HTTP/1.1 404\r\n\r\n', 404, '', 1],
  ['HTTP/1.0 299 \xe9t\xe9\t!\r\nContent-Length: 3\r\n\r\n', 299, '\xe9t\xe9\t!', 0],
  ['HTTP/1.1 100 Continue\r\n\r\n', 100, 'Continue', 1],
  ['HTTP/1.1 599 x\r\n\r\n', 599, 'x', 1],
  ['HTTP/1.1 600 x\r\n\r\n', 600, 'x', 1],
  ['HTTP/1.1 999\r\n\r\n', 999, '', 1],
];

for (const [text, status, reason, minor] of ACCEPTED) {
  test(`${JSON.stringify(text)} is read as ${status}`, () => {
    const { head, fault } = parse(text);
    assert.equal(fault, null);
    assert.deepEqual([head.status, head.reason, head.minor], [status, reason, minor]);
  });
}

test('the response to HEAD, an interim one, a 204 and a 304 have no body', () => {
  const bodyless = (status: number, method: string) => parse(`HTTP/1.1 ${status} x\r\nContent-Length: 3\r\n\r\n`).head.bodyless(method);
  for (const status of [100, 103, 199, 204, 304]) assert.equal(bodyless(status, 'GET'), true, String(status));
  assert.equal(bodyless(200, 'HEAD'), true);
  for (const status of [200, 205, 206, 301, 404, 500]) assert.equal(bodyless(status, 'GET'), false, String(status));
});

test('no prefix of a valid response is refused', () => {
  for (const [text] of ACCEPTED) {
    for (let end = 0; end < text.length; end++) assert.equal(partial(text.slice(0, end)), null, JSON.stringify(text.slice(0, end)));
  }
});

test('bytes that no continuation can make a response are refused at once', () => {
  for (const [text, fault] of [
    ['S', FAULT.badStatusLine],
    ['\rH', FAULT.badStatusLine],
    ['HTTP/2', FAULT.badStatusLine],
    ['HTTP/1.2', FAULT.badStatusLine],
    ['HTTP/1.1 0', FAULT.badStatusLine],
    ['HTTP/1.1 200O', FAULT.badStatusLine],
    ['HTTP/1.1 200 a\0', FAULT.badStatusLine],
    ['HTTP/1.1 200 OK\rA', FAULT.badStatusLine],
    ['HTTP/1.1 200 OK\r\nA\r', FAULT.bareLineEnd],
    ['HTTP/1.1 200 OK\r\nA: \0', FAULT.badFieldValue],
    ['HTTP/1.1 200 OK\r\nA: b\r\n ', FAULT.foldedLine],
  ] as const) {
    assert.equal(partial(text), fault, JSON.stringify(text));
    assert.equal(partial(text.slice(0, -1)), null, JSON.stringify(text));
  }
});
