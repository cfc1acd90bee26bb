import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { until } from '../../shared/runtime/testing/until.ts';
import type { AnalyticsSnapshot } from '../../shared/wire/analytics.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { Upstream } from '../testing/upstream.ts';
import { Browser, missingBrowser } from './browser.ts';

/** A compressed page with a strict policy, whose button keeps the browser busy for 60 ms. */
const PAGE = gzipSync(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Shop</title></head>
<body><h1>Shop</h1><button>Buy</button>
<script nonce="r4nd0m">
document.querySelector('button').addEventListener('click', () => {
  for (const end = performance.now() + 60; performance.now() < end; );
});
</script></body></html>`);
const FIELDS = {
  'content-type': 'text/html',
  'content-encoding': 'gzip',
  'content-security-policy': "default-src 'none'; script-src 'nonce-r4nd0m'; connect-src 'self'",
};
const AFTER_A_PAINT = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))';
/** The digest takes observations by the hundred; the browser makes the last ones. */
const [HUNDRED, VISITS] = [100, 4];

test('a browser measures pages, also those that are left right after a click, and the proxy reports their Web Vitals', async (context) => {
  const reason = missingBrowser();
  if (reason !== undefined) return context.skip(reason);
  using folder = new Folder();
  await using app = await Upstream.start('app', (_, response) => response.writeHead(200, FIELDS).end(PAGE));
  const flags = ['--trusted-proxies', '127.0.0.1/32'];
  await using dataplane = await Dataplane.start({ stateDir: folder.file('state'), workers: 2, flags });
  await dataplane.route('shop.localhost', app.address, { analytics: true });
  const snapshot = async (): Promise<AnalyticsSnapshot> => JSON.parse((await dataplane.admin('GET', '/analytics/shop.localhost')).text);

  for (let at = 1; at <= HUNDRED - VISITS; at++) {
    const headers = { 'x-forwarded-for': `192.0.2.${at}`, origin: 'http://shop.localhost' };
    const { status } = await dataplane.visit('shop.localhost', '/.sluice/vitals', { method: 'POST', headers, body: '{"lcp":1,"inp":1}' });
    assert.equal(status, 204);
  }
  await using browser = await Browser.start(folder, []);
  const { page } = browser;
  const problems: string[] = [];
  page.on('console', (message) => void problems.push(message.text()));
  page.on('pageerror', (error) => void problems.push(String(error)));
  for (let visit = 0; visit < VISITS; visit++) {
    await page.goto(`http://shop.localhost:${dataplane.httpPort}/`);
    await page.click('button');
    await page.evaluate(AFTER_A_PAINT);
  }
  assert.equal(await page.evaluate('typeof webVitals'), 'undefined', 'the script leaves no global name');
  await page.goto('about:blank');

  // Each poll counts against the Admin API's limit.
  const { lcp, cls, inp } = await until('the hundredth observation', async () => {
    await wait(1_000);
    const { web_vitals: vitals } = await snapshot();
    return vitals.lcp.p50 > 0 ? vitals : null;
  });
  const { policies } = JSON.parse((await dataplane.admin('GET', '/explain?url=http://shop.localhost/')).text);
  const measured = { name: 'analytics', verdict: `pages are measured: ${VISITS} with the script since the start` };
  assert.deepEqual(policies.at(-1), measured);
  assert.deepEqual([lcp.p50, lcp.p95, inp.p50, inp.p95], [1, 1, 1, 1]);
  assert.ok(lcp.p99 > 1 && lcp.p99 < 60_000, `LCP ${lcp.p99}`);
  assert.ok(inp.p99 >= 40 && inp.p99 < 60_000, `INP ${inp.p99}`);
  assert.equal(cls.p99, 0);
  assert.deepEqual(
    problems.filter((problem) => !problem.includes('favicon')),
    [],
  );
});
