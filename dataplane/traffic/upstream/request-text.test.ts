import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FORWARDING, type SampleRequest, sampleExchange } from '../testing/samples/sample-exchange.ts';
import { requestHead } from './request-text.ts';

const GET: SampleRequest = { method: 'GET', target: '/a?b', kept: 'Host: a\r\nB: c\r\n', length: -1, chunked: false };

const written = (request: Partial<SampleRequest>): string => requestHead(sampleExchange({ ...GET, ...request }));

test('a request is written as HTTP/1.1: request line, the client’s fields, our fields, the empty line', () => {
  assert.equal(written({}), `GET /a?b HTTP/1.1\r\nHost: a\r\nB: c\r\n${FORWARDING}\r\n`);
});

test('a body has exactly one framing: chunked if it was, else its length', () => {
  assert.ok(written({ method: 'POST', chunked: true }).endsWith(`${FORWARDING}Transfer-Encoding: chunked\r\n\r\n`));
  assert.ok(written({ method: 'GET', length: 5 }).endsWith(`${FORWARDING}Content-Length: 5\r\n\r\n`));
});

test('an empty POST, PUT or PATCH has Content-Length: 0, and other methods have none', () => {
  for (const method of ['POST', 'PUT', 'PATCH']) assert.ok(written({ method }).endsWith('Content-Length: 0\r\n\r\n'), method);
  for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS']) assert.doesNotMatch(written({ method, length: 0 }), /content-length/i);
});

test('the upstream gets the target and fields as changed by blocks and policies', () => {
  const x = sampleExchange(GET);
  x.upstreamTarget = '/else?c';
  x.upstreamFields = 'Host: a\r\nX-User: ann\r\n';
  assert.equal(requestHead(x), `GET /else?c HTTP/1.1\r\nHost: a\r\nX-User: ann\r\n${FORWARDING}\r\n`);
});
