import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventParser } from './event-stream.ts';

const STREAM = ': connected\n\nevent: overview\ndata: {"a":"b: c"}\n\n: alive\n\ndata: x\ndata: y\n\n';

test('reads events however the stream is split, and skips comments', () => {
  const expected = [
    { event: 'overview', data: '{"a":"b: c"}' },
    { event: 'message', data: 'x\ny' },
  ];
  for (let size = 1; size <= STREAM.length; size++) {
    const parser = new EventParser();
    const events = [];
    for (let at = 0; at < STREAM.length; at += size) events.push(...parser.push(STREAM.slice(at, at + size)));
    assert.deepEqual(events, expected);
  }
});
