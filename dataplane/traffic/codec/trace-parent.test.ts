import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTraceParent, traceParentLine } from './trace-parent.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

test('a traceparent of version 00 is read', () => {
  assert.deepEqual(readTraceParent(`00-${TRACE}-${SPAN}-01`), { traceId: TRACE, spanId: SPAN, sampled: true });
  assert.deepEqual(readTraceParent(`00-${TRACE}-${SPAN}-00`), { traceId: TRACE, spanId: SPAN, sampled: false });
});

test('unknown flags are ignored and not sent', () => {
  const parent = readTraceParent(`00-${TRACE}-${SPAN}-ff`);
  assert.ok(parent?.sampled);
  assert.equal(traceParentLine(parent), `traceparent: 00-${TRACE}-${SPAN}-01\r\n`);
  assert.equal(readTraceParent(`00-${TRACE}-${SPAN}-02`)?.sampled, false);
});

test('a later version is read as far as its format is known', () => {
  assert.equal(readTraceParent(`cc-${TRACE}-${SPAN}-01`)?.traceId, TRACE);
  assert.equal(readTraceParent(`01-${TRACE}-${SPAN}-01-what-the-future-will-be`)?.spanId, SPAN);
});

test('an invalid traceparent is refused', () => {
  for (const value of [
    '',
    'x',
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-`,
    `00-${TRACE}-${SPAN}-01-more`,
    `cc-${TRACE}-${SPAN}-01.what`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE.slice(1)}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}1-01`,
    `00-${TRACE}-${SPAN}-1`,
    `0-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-0x`,
    `00_${TRACE}_${SPAN}_01`,
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  ])
    assert.equal(readTraceParent(value), null, value);
});
