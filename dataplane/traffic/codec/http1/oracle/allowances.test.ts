import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALLOWANCES } from './testing/allowances.ts';
import { AnswerReader } from './testing/answer-reader.ts';
import { Differential } from './testing/differential.ts';
import { disagreement } from './testing/disagreement.ts';
import { Llhttp } from './testing/llhttp.ts';
import { type Direction, readCut } from './testing/reading.ts';
import { RequestReader } from './testing/request-reader.ts';
import { SampleRandom } from './testing/sample-random.ts';

const NEXT = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const CHUNKED = 'Host: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n';

/** A message that needs the allowance, for each allowance. */
const EXAMPLES: Readonly<Record<string, readonly [text: string, role: Direction]>> = {
  proxyConnection: [`GET / HTTP/1.1\r\nHost: a\r\nProxy-Connection: close\r\n\r\n${NEXT}`, 'request'],
  connectionTrailer: [`POST / HTTP/1.1\r\n${CHUNKED}Connection: close\r\n\r\n${NEXT}`, 'request'],
  interimBody: ['HTTP/1.1 183 a\r\nContent-Length: 3\r\n\r\nHTTP/1.1 204 b\r\n\r\n', 'response'],
  interimClose: ['HTTP/1.1 103 a\r\nConnection: close\r\n\r\nHTTP/1.1 204 b\r\n\r\n', 'response'],
  tabAfterCoding: [`POST / HTTP/1.1\r\n${CHUNKED.replace('chunked', 'chunked\t')}\r\n`, 'request'],
};

function wrong(text: string, role: Direction, without: string | null): string | null {
  const bytes = Buffer.from(text, 'latin1');
  const ours = readCut(role === 'request' ? new RequestReader() : new AnswerReader('GET'), bytes, []);
  const allowances = Object.entries(ALLOWANCES).flatMap(([name, allowance]) => (name === without ? [] : [allowance]));
  return disagreement(text, ours, new Llhttp(role).read(bytes), role, allowances);
}

for (const [name, { section }] of Object.entries(ALLOWANCES)) {
  test(`the allowance ${name} (${section}) is needed and sufficient`, () => {
    const example = EXAMPLES[name];
    if (example === undefined) return assert.equal(name, 'unknownMethod');
    const [text, role] = example;
    assert.equal(wrong(text, role, null), null);
    assert.notEqual(wrong(text, role, name), null);
  });
}

test('a method that llhttp does not know is accepted, and the rest of its message is compared', () => {
  const text = `FOO / HTTP/1.1\r\n${CHUNKED}\r\n${NEXT}`;
  assert.equal(new Llhttp('request').read(Buffer.from(text)).error, 'HPE_INVALID_METHOD');
  const differential = new Differential('request');
  differential.check(text, new SampleRandom(1));
  assert.equal(differential.accepted, 1);
});
