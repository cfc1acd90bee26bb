import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRange } from './range.ts';

const NOW = Date.parse('2026-11-23T10:20:30Z');
const rangeOf = (query: Record<string, string>) => parseRange(new Map(Object.entries(query)), NOW);

test('a day that the calendar does not have is refused, not taken for a later one', () => {
  for (const day of ['2026-02-30', '2026-02-29', '2026-04-31', '2026-13-01', '2026-00-10', '2026-11-00', '2026-11-32'])
    for (const text of [day, `${day}T10:00:00Z`, `${day}T10:00+02:00`])
      assert.deepEqual(rangeOf({ from: text, to: '2027-02-01' }), { ok: false, reason: `from: the calendar has no ${day}` });
  for (const name of ['to', 'previous_to'])
    assert.deepEqual(rangeOf({ from: '2026-11-01', previous_from: '2026-10-01', previous_to: '2026-11-01', [name]: '2026-11-31' }), {
      ok: false,
      reason: `${name}: the calendar has no 2026-11-31`,
    });
  const leap = rangeOf({ from: '2024-02-29', to: '2024-02-29T23:59:59.999-01:00' });
  assert.ok(leap.ok);
  assert.deepEqual([leap.value.from, leap.value.to], [Date.parse('2024-02-29'), Date.parse('2024-03-01T01:00:00Z')]);
});

test('what is neither a date nor a time is refused with an example', () => {
  for (const text of ['', 'yesterday', '2026-1-1', '2026-11-22 13:00', '2026-11-22T13:00', '2026-11-22T25:00Z', '1774224000'])
    assert.deepEqual(rangeOf({ from: text }), {
      ok: false,
      reason: 'from is a date or a time, such as 2026-11-22 or 2026-11-22T13:00:00Z',
    });
});

test('a time may be written as date -Iseconds prints it, without escaping the sign of its offset', () => {
  const [from, to] = ['2026-11-22T13:00:00+05:30', '2026-11-23T13:00:00-03:30'];
  const range = parseRange(new Map(new URLSearchParams(`from=${from}&to=${to}`)), NOW);
  assert.ok(range.ok);
  assert.deepEqual([range.value.from, range.value.to], [Date.parse('2026-11-22T07:00:00Z'), Date.parse('2026-11-23T17:00:00Z')]);
});
