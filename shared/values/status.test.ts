import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileStatuses, parseStatusOrClass } from './status.ts';

test('a status or a class of statuses is read, and nothing else', () => {
  assert.deepEqual(parseStatusOrClass('404'), { ok: true, value: 404 });
  assert.deepEqual(parseStatusOrClass('5xx'), { ok: true, value: '5xx' });
  for (const text of ['', '100', '1xx', '600', '5XX', '5x', '0404', '4.4', 'all']) assert.equal(parseStatusOrClass(text).ok, false, text);
});

test('a list matches the statuses and classes that it names', () => {
  const matches = compileStatuses([404, '5xx']);
  assert.deepEqual([404, 500, 599].map(matches), [true, true, true]);
  assert.deepEqual([200, 403, 499, 600].map(matches), [false, false, false, false]);
});
