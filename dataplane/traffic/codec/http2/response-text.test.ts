import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerText } from './response-text.ts';

test('a response is written as the equivalent HTTP/1.1 head', () => {
  assert.equal(answerText([':status', '404', 'a', '1', 'a', '2']), 'HTTP/1.1 404 Not Found\r\na: 1\r\na: 2\r\n\r\n');
  for (const status of ['599', '600', '999']) assert.equal(answerText([':status', status]), `HTTP/1.1 ${status} \r\n\r\n`);
});

for (const [what, raw] of [
  ['without a status', ['a', '1']],
  ['whose status has two digits', [':status', '42']],
  ['whose status is below 100', [':status', '099']],
  ['with another pseudo-header field', [':status', '200', ':path', '/']],
  ['with a name in upper case', [':status', '200', 'A', '1']],
  ['with a value that ends its line', [':status', '200', 'a', '1\r\nb: 2']],
  ['with a field that describes a connection', [':status', '200', 'connection', 'close']],
  ['with Transfer-Encoding', [':status', '200', 'transfer-encoding', 'chunked']],
] as const)
  test(`a response ${what} is malformed`, () => assert.equal(answerText(raw), null));
