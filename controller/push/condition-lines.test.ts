import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteCondition } from '../../shared/wire/apply.ts';
import { conditionLines, type KnownConditions, NO_CONDITIONS_SENT } from './condition-lines.ts';

const YES = { holds: true, reason: 'valid', since: '2026-01-01T00:00:00.000Z' };
const NO = { holds: false, reason: 'no target is available', since: '2026-01-02T00:00:00.000Z' };

const known = (domain: string, more: Partial<KnownConditions> = {}): KnownConditions => ({
  ...{ domain, source: 'file', accepted: YES, resolved: YES },
  ...more,
});

const source = (version: number, ...list: KnownConditions[]) => ({ version, list: () => list });
const read = (lines: readonly string[]): RouteCondition[] =>
  lines.map((line) => (JSON.parse(line) as { condition: RouteCondition }).condition);

test('domains with equal conditions share a line', () => {
  const { lines } = conditionLines(
    source(1, known('a.test'), known('b.test', { accepted: { ...YES } }), known('c.test', { resolved: NO })),
    NO_CONDITIONS_SENT,
  );
  assert.deepEqual(read(lines), [
    { source: 'file', domains: ['a.test', 'b.test'], accepted: YES, resolved: YES },
    { source: 'file', domains: ['c.test'], accepted: YES, resolved: NO },
  ]);
});

test('only conditions that have changed since are sent, and those of routes that are sent again', () => {
  const [a, b, c] = [known('a.test'), known('b.test'), known('c.test')];
  const { becomes } = conditionLines(source(1, a, b, c), NO_CONDITIONS_SENT);
  const next = source(2, a, { ...b, resolved: NO }, c);
  assert.deepEqual(
    read(conditionLines(next, becomes).lines).map(({ domains }) => domains),
    [['b.test']],
  );
  assert.deepEqual(
    read(conditionLines(next, becomes, new Set(['c.test'])).lines).map(({ domains }) => domains),
    [['b.test'], ['c.test']],
  );
  assert.deepEqual(conditionLines(source(1, a, b, c), becomes), { lines: [], becomes });
});

test('a hundred thousand routes take few lines, each far below the limit of a line', () => {
  const all = Array.from({ length: 100_000 }, (_, n) => known(`${'long'.repeat(40)}-${n}.test`));
  const { lines } = conditionLines(source(1, ...all), NO_CONDITIONS_SENT);
  assert.equal(lines.length, 100);
  assert.ok(lines.every((line) => line.length < 1_048_576));
});
