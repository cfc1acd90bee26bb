import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { ERRORS } from '../http/errors.ts';
import { ENDPOINTS } from './endpoints.ts';

const reference = readFileSync(new URL('../../../docs/reference/admin-api.md', import.meta.url), 'utf8');

/** The rows of the table that starts with this header. */
function rowsUnder(head: string): string[] {
  const lines = reference.split('\n');
  const start = lines.indexOf(head) + 2;
  assert.ok(start > 1, `the reference has a table "${head}"`);
  const end = lines.findIndex((line, index) => index >= start && !line.startsWith('|'));
  return lines.slice(start, end);
}

describe('the reference of the Admin API', () => {
  it('lists exactly the endpoints in the code', () =>
    assert.deepEqual(
      rowsUnder('| method | path | what it does |'),
      ENDPOINTS.map(({ method, path, does }) => `| ${method} | \`${path}\` | ${does} |`),
    ));

  it('lists exactly the errors in the code', () =>
    assert.deepEqual(
      rowsUnder('| status | message | cause |'),
      Object.values(ERRORS).map(({ status, message, cause }) => `| ${status} | ${message} | ${cause} |`),
    ));
});
