import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReadBuffer } from '../../io/read-buffer.ts';
import { sampleExchange } from '../../testing/samples/sample-exchange.ts';
import { RequestBody } from './request-body.ts';

test('a body whose beginning has been sent is not held, or the rest would be taken for all of it', () => {
  const body = new RequestBody({ pause: () => undefined, discarded: () => undefined });
  const x = sampleExchange({ method: 'POST', target: '/', kept: '', length: 50_000, chunked: false });
  body.begin(x);
  x.bodyStart = Buffer.alloc(20_000);
  assert.equal(
    body.hold(x, () => undefined),
    false,
  );
});

test('a slow sender has no buffer of its own, and one that fills its reads has', (t) => {
  const body = new RequestBody({ pause: () => undefined, discarded: () => undefined });
  t.after(() => body.release());
  const x = sampleExchange({ method: 'POST', target: '/', kept: '', length: 65_000, chunked: false });
  body.begin(x);
  let held: Buffer | null = null;
  assert.ok(body.hold(x, () => (held = x.held)));
  const receive = (bytes: number, filledWith: string): void => {
    const into = body.nextBuffer();
    into.fill(filledWith, 0, bytes);
    body.feed(into.subarray(0, bytes));
  };
  receive(40_000, 'a');
  assert.ok(body.nextBuffer() === ReadBuffer.common);
  receive(1, 'b');
  assert.ok(body.nextBuffer() === ReadBuffer.common);
  receive(24_999, 'c');
  assert.equal(String(held), `${'a'.repeat(40_000)}b${'c'.repeat(24_999)}`);
  body.begin(sampleExchange({ method: 'POST', target: '/', kept: '', length: 1_000_000, chunked: false }));
  receive(65_536, 'a');
  receive(65_536, 'a');
  assert.ok(body.nextBuffer() !== ReadBuffer.common);
  receive(1, 'a');
  assert.ok(body.nextBuffer() === ReadBuffer.common);
});
