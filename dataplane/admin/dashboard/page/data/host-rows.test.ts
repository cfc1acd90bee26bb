import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Alert, HostNow, Severity } from '../../../../../shared/wire/dashboard.ts';
import { hostRowsOf } from './host-rows.ts';

const counted = (domain: string) => ({ domain, views: 3, humans: 2, page_views: 1 });
const live = (domain: string) => ({ domain, page_views_1m: 4, page_views_60m: 5, unique_visitors: 1, requests: 5, errors: 0 });

test('hosts without requests in the period have 0, unless more have some than the history lists; the same of those that are busy now', () => {
  const row = (hosts: number, host_count: number, domain: string) => {
    const listed = Array.from({ length: hosts }, (_, at) => counted(`h${at}.test`));
    const { pageViews, requests, minute, hour } =
      hostRowsOf({ hosts: [live('busy.test')], host_count, alerts: [], alert_count: 0 }, listed).find((one) => one.domain === domain) ??
      assert.fail();
    return [pageViews, requests, minute, hour];
  };
  assert.deepEqual(row(999, 1, 'busy.test'), [0, 0, 4, 5]);
  assert.deepEqual(row(1_000, 1, 'busy.test'), [null, null, 4, 5]);
  assert.deepEqual(row(1_000, 1, 'h0.test'), [1, 3, 0, 0]);
  assert.deepEqual(row(1_000, 101, 'h0.test'), [1, 3, null, null]);
});

test('while the history of the period is not there, hosts have no figures of it instead of 0', () => {
  const [row] = hostRowsOf({ hosts: [live('busy.test')], host_count: 1, alerts: [], alert_count: 0 }, null);
  assert.deepEqual([row?.pageViews, row?.requests, row?.minute, row?.hour], [null, null, 4, 5]);
});

const alert = (domain: string, message: string, severity: Severity = 'error'): Alert => ({
  ...{ severity, code: 'pool_down', domain, subject: domain, message, action: '', since: null },
});
/** What is wrong with a host. */
const wrong = (domain: string, alerts: Alert[], { alert_count = alerts.length, hosts = [live(domain)] }: Listed = {}): string | null =>
  (hostRowsOf({ hosts, host_count: hosts.length, alerts, alert_count }, [counted(domain)])[0] ?? assert.fail()).wrong;
type Listed = { alert_count?: number; hosts?: HostNow[] };

test('a host has its worst alert, and is not called fine if there are more alerts than are listed, unless those are advice', () => {
  const alerts = [alert('a.test', 'down'), alert('a.test', 'degraded', 'warning')];
  assert.equal(wrong('a.test', alerts), 'down');
  assert.equal(wrong('b.test', alerts), '');
  assert.equal(wrong('b.test', alerts, { alert_count: 3 }), null);
  assert.equal(wrong('b.test', [...alerts, alert('c.test', 'overridden', 'advice')], { alert_count: 4 }), '');
});

test('what is wrong with a wildcard is wrong with the hosts that it serves', () => {
  const alerts = [alert('*.x.test', 'down')];
  const hosts = [{ ...live('a.x.test'), pattern: '*.x.test' }];
  assert.equal(wrong('a.x.test', alerts, { hosts }), 'down');
  assert.equal(wrong('a.x.test', [{ ...alert('*.x.test', 'some fail'), code: 'server_errors' }], { hosts }), null, 'it may be another one');
  assert.equal(wrong('a.x.test', alerts), '', 'it has a route of its own');
  assert.equal(wrong('a.x.test', alerts, { hosts: [] }), null, 'it may have one');
  assert.equal(wrong('a.b.x.test', alerts, { hosts: [] }), '');
});
