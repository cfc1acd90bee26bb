import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostRowsOf } from './host-rows.ts';

const counted = (domain: string) => ({ domain, views: 3, humans: 2, page_views: 1 });
const live = (domain: string) => ({ domain, page_views_1m: 4, page_views_60m: 5, unique_visitors: 1, requests: 5, errors: 0 });

test('hosts without requests in the period have 0, unless more have some than the history lists; the same of those that are busy now', () => {
  const row = (hosts: number, host_count: number, domain: string) => {
    const listed = Array.from({ length: hosts }, (_, at) => counted(`h${at}.test`));
    const { pageViews, requests, minute, hour } =
      hostRowsOf({ hosts: [live('busy.test')], host_count, alerts: [] }, listed).find((one) => one.domain === domain) ?? assert.fail();
    return [pageViews, requests, minute, hour];
  };
  assert.deepEqual(row(999, 1, 'busy.test'), [0, 0, 4, 5]);
  assert.deepEqual(row(1_000, 1, 'busy.test'), [null, null, 4, 5]);
  assert.deepEqual(row(1_000, 1, 'h0.test'), [1, 3, 0, 0]);
  assert.deepEqual(row(1_000, 101, 'h0.test'), [1, 3, null, null]);
});
