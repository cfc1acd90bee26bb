import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Problem } from '../../shared/wire/apply.ts';
import type { LiveTable } from '../table/live-table.ts';
import { Readiness } from './readiness.ts';

/** Why nothing is served if this source of a controller has failed since the start. */
function reasonFor(source: string): string | null {
  const problem: Problem = {
    source,
    origin: source,
    domain: null,
    code: 'source_failed',
    message: 'no',
    since: '2026-01-02T03:04:05.000Z',
  };
  const table: Partial<LiveTable> = { onChange: () => () => undefined, problems: () => [problem] };
  return new Readiness(table as LiveTable, { claims: new Map(), controllers: new Map() } as never, () => ({ open: 1, closed: [] })).now()
    .reason;
}

test('nothing is served because the config file has errors only if there is one', () => {
  assert.equal(reasonFor('file'), 'nothing to serve: no table was saved, and the config file of a controller has errors');
  assert.equal(reasonFor('docker'), 'nothing to serve: no table was saved, and a controller could not list its containers');
  assert.equal(reasonFor('kubernetes'), 'nothing to serve: no table was saved, and a controller could not read its cluster');
});
