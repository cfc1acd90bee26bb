import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FORWARDING, type SampleRequest, sampleExchange } from '../codec/http1/oracle/sample-exchange.ts';
import { compileAnswerFields } from '../exchange/answer-fields.ts';
import { requestHead } from './request-text.ts';

const GET: SampleRequest = { method: 'GET', target: '/a?b', kept: 'Host: a\r\nB: c\r\n', length: -1, chunked: false };

const written = (request: Partial<SampleRequest>, strip = ''): string => {
  const x = sampleExchange({ ...GET, ...request });
  x.block = {
    index: 0,
    pattern: null,
    condition: null,
    folds: false,
    strip,
    holdMs: 0,
    policies: [],
    pool: null,
    fields: compileAnswerFields([]),
    variants: null,
  };
  return requestHead(x);
};

test('a request is written as HTTP/1.1: its line, the client’s fields, ours, the empty line', () => {
  assert.equal(written({}), `GET /a?b HTTP/1.1\r\nHost: a\r\nB: c\r\n${FORWARDING}\r\n`);
});

test('a body has one framing: chunked where it was, else its length', () => {
  assert.ok(written({ method: 'POST', chunked: true }).endsWith(`${FORWARDING}Transfer-Encoding: chunked\r\n\r\n`));
  assert.ok(written({ method: 'GET', length: 5 }).endsWith(`${FORWARDING}Content-Length: 5\r\n\r\n`));
});

test('POST, PUT and PATCH say that they are empty, other methods need not', () => {
  for (const method of ['POST', 'PUT', 'PATCH']) assert.ok(written({ method }).endsWith('Content-Length: 0\r\n\r\n'), method);
  for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS']) assert.doesNotMatch(written({ method, length: 0 }), /content-length/i);
});

test('the stripped prefix leaves the rest of the target as it was sent', () => {
  for (const [target, sent] of [
    ['/api/a%2Fb?c', '/a%2Fb?c'],
    ['/api/', '/'],
    ['/api', '/'],
    ['/api?b', '/?b'],
    ['/%61pi//x', '//x'],
    ['/other', '/other'],
  ] as const) {
    assert.equal(written({ target }, '/api').split(' ')[1], sent, target);
  }
});
