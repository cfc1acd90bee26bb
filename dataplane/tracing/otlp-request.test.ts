import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { envelopeOf } from './envelope.ts';
import { postSpans } from './otlp-request.ts';
import type { Outcome } from './span-exporter.ts';

type Answer = { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };

/** Answers instead, for as long as it likes. */
let endless: ((response: ServerResponse) => void) | null = null;

/** Posts to a collector that answers like this. */
async function post(answer: Answer, headers: [string, string][] = []): Promise<Outcome & { readonly sent: IncomingHttpHeaders }> {
  let sent: IncomingHttpHeaders = {};
  const server = createServer((request, response) => {
    sent = request.headers;
    request.resume().on('end', () => {
      if (endless === null) response.writeHead(answer.status, answer.headers).end(answer.body);
      else endless(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    return { ...(await postSpans({ url: `http://127.0.0.1:${port}/v1/traces`, headers }, 'sluice/1', '{}')), sent };
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

test('a success delivers all spans, with any body', async () => {
  for (const body of ['', '{}', 'null', 'not JSON', '{"partialSuccess":{}}', '{"partialSuccess":{"rejectedSpans":"0"}}']) {
    const { kind, sent } = await post({ status: 200, body });
    assert.equal(kind, 'delivered', body);
    assert.equal(sent['user-agent'], 'sluice/1');
  }
});

test('rejected spans are reported with the reason of the collector', async () => {
  const { sent: _, ...outcome } = await post({ status: 200, body: '{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too  old"}}' });
  assert.deepEqual(outcome, { kind: 'delivered', rejected: 3, reason: 'the collector rejected spans: too old' });
});

test('a collector that rejects nonsense has rejected nothing, and its message can’t control a terminal', async () => {
  for (const rejectedSpans of ['-3', -3, 'many', {}, true, { valueOf: 1, toString: 1 }])
    assert.equal(
      (await post({ status: 200, body: JSON.stringify({ partialSuccess: { rejectedSpans, errorMessage: rejectedSpans } }) })).kind,
      'delivered',
    );
  const outcome = await post({ status: 200, body: '{"partialSuccess":{"rejectedSpans":-3}}' });
  assert.equal(outcome.kind === 'delivered' && outcome.rejected, 0);
  const { sent: _, ...said } = await post({ status: 400, body: 'a\u001b[2Jb\u0000\u202ec\r\n' });
  assert.deepEqual(said, { kind: 'refused', reason: 'the collector answered 400: a [2Jb c' });
});

test('an answer that never ends is read no further than 64 KiB, compressed or not', async () => {
  for (const [fields, piece] of [
    [{}, Buffer.alloc(65_536, 'x')],
    // A stored block of deflate with as many bytes, which another may follow.
    [{ 'content-encoding': 'gzip' }, Buffer.concat([Buffer.from([0, 0xff, 0xff, 0, 0]), Buffer.alloc(65_535, 'x')])],
  ] as const) {
    let sent = 0;
    const closed = new Promise<void>((resolve) => {
      endless = (response) => {
        response.writeHead(200, fields);
        if ('content-encoding' in fields) response.write(Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]));
        const more = (): void => {
          while (!response.destroyed && sent < 1 << 28) {
            sent += piece.length;
            if (!response.write(piece)) return void response.once('drain', more);
          }
        };
        response.once('close', resolve);
        more();
      };
    });
    const { kind } = await post({ status: 200 });
    assert.equal(kind, 'delivered');
    await closed;
    assert.ok(sent < 1 << 26, `${sent}`);
    endless = null;
  }
});

test('the statuses of an overloaded collector are repeated, after the pause that it asks for', async () => {
  for (const status of [429, 502, 503, 504]) assert.equal((await post({ status })).kind, 'retry', `${status}`);
  for (const [pause, afterMs] of [
    ['7', 7_000],
    ['999999', 60_000],
    ['Fri, 31 Dec 1999 23:59:59 GMT', null],
    ['Sat, 01 Jan 2000 00:00:05 GMT', 5_000],
    ['Sun, 02 Jan 2000 00:00:00 GMT', 60_000],
    ['soon', null],
    ['-1', null],
  ] as const) {
    const { sent: _, ...outcome } = await post({ status: 503, headers: { 'retry-after': pause, date: 'Sat, 01 Jan 2000 00:00:00 GMT' } });
    assert.deepEqual(outcome, { kind: 'retry', reason: 'the collector answered 503', afterMs });
  }
});

test('any other status is not repeated, and no redirect is followed', async () => {
  for (const status of [302, 400, 401, 404, 413, 500]) {
    const { kind } = await post({ status, headers: { location: 'http://127.0.0.1:1/' } });
    assert.equal(kind, 'refused', `${status}`);
  }
});

test('the fields of the operator are sent, in place of ours with the same name', async () => {
  const { sent } = await post({ status: 200 }, [
    ['X-Key', 'a b'],
    ['User-Agent', 'c'],
  ]);
  assert.deepEqual([sent['x-key'], sent['user-agent'], sent['content-type']], ['a b', 'c', 'application/json']);
});

test('a refused connection is repeated, with its code as the reason', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const outcome = await postSpans({ url: `http://127.0.0.1:${port}/`, headers: [] }, 'sluice/1', '{}');
  assert.deepEqual(outcome, { kind: 'retry', reason: 'ECONNREFUSED', afterMs: null });
});

test('the envelope is a request around its spans, with the name of the service escaped', () => {
  const [before, after] = envelopeOf({ serviceName: 'a "[]"', version: '1', host: 'h', pid: 7 });
  const request = JSON.parse(`${before}{"name":"x"}${after}`) as {
    resourceSpans: { resource: { attributes: { value: object }[] }; scopeSpans: { spans: object[] }[] }[];
  };
  assert.deepEqual(request.resourceSpans[0]?.scopeSpans[0]?.spans, [{ name: 'x' }]);
  assert.deepEqual(request.resourceSpans[0]?.resource.attributes[0]?.value, { stringValue: 'a "[]"' });
});
