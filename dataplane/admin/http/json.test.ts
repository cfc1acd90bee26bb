import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { frameOf, routeOf } from '../../table/testing/temporary-table.ts';
import { RunningAdmin } from '../testing/running-admin.ts';

describe('long lists', () => {
  for (const count of [500, 501, 2_345])
    it(`${count} routes are sent as one sorted list`, async () => {
      await using api = await RunningAdmin.start();
      const domains = Array.from({ length: count }, (_, at) => `site-${at}.test`);
      await api.table.apply(
        frameOf(
          {},
          domains.map((domain) => routeOf(domain, 'up:1', { source: 'file' })),
        ),
      );
      for (const view of ['', '?view=full']) {
        const { status, headers, text } = await api.request('GET', `/routes${view}`);
        assert.deepEqual([status, headers['content-type']], [200, 'application/json']);
        const listed = (JSON.parse(text) as { domain: string }[]).map(({ domain }) => domain);
        assert.deepEqual(listed, [...domains].sort());
      }
    });
});
