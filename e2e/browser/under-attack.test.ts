import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';
import { until } from '../testing/until.ts';
import { Upstream } from '../testing/upstream.ts';
import { Browser, missingBrowser, pageProtocol } from './browser.ts';

const skip = missingBrowser();

test('a browser solves the challenge without its user and sees the page, over HTTP/1.1 and HTTP/2', { skip }, async () => {
  using folder = new Folder();
  await using upstream = await Upstream.start('app', (request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(`<!doctype html><title>Shop</title><h1>${request.url}</h1>`);
  });
  const httpsPort = await freePort();
  await using dataplane = await Dataplane.start({ stateDir: folder.file('state'), workers: 2, flags: ['--https-port', `${httpsPort}`] });
  await dataplane.route('plain.test', upstream.address, { https: 'off', under_attack: true });
  await dataplane.route('safe.test', upstream.address, { https: 'internal', under_attack: true, challenge: { difficulty: 14 } });
  const root = await until('the root', async () => {
    const answer = await dataplane.admin('GET', '/certificates/root');
    return answer.status === 200 ? answer.text : null;
  });
  assert.equal((await dataplane.visit('plain.test')).status, 503);
  assert.equal(upstream.requests, 0);
  await using browser = await Browser.start(folder, [root]);
  const { page } = browser;
  const problems: string[] = [];
  page.on('pageerror', (error) => void problems.push(String(error)));
  for (const [origin, protocol] of [
    [`http://plain.test:${dataplane.httpPort}`, 'http/1.1'],
    [`https://safe.test:${httpsPort}`, 'h2'],
  ] as const) {
    assert.equal((await page.goto(`${origin}/cart?a=b`))?.status(), 503);
    // A locator, as the challenge's own policy forbids what waitForFunction would evaluate in the page.
    await page.locator('h1', { hasText: '/cart?a=b' }).waitFor();
    assert.equal(await page.title(), 'Shop');
    assert.equal(await pageProtocol(page), protocol);
    assert.equal((await page.goto(`${origin}/next`))?.status(), 200, 'it is solved once');
  }
  assert.deepEqual(problems, []);
});

test('a browser without cookies or scripts is told what the check needs', { skip }, async () => {
  using folder = new Folder();
  await using dataplane = await Dataplane.start({ stateDir: folder.file('state') });
  const route = { domain: 'a.test', upstream: null, tls: false, under_attack: true, challenge: { difficulty: 8 } };
  await dataplane.admin('POST', '/routes', { ...route, respond: { status: 200, body: 'in' } });
  await using browser = await Browser.start(folder, []);
  const address = `http://a.test:${dataplane.httpPort}/`;
  const { page } = browser;
  await page.addInitScript("Object.defineProperty(document, 'cookie', { get: () => '', set: () => undefined })");
  await page.goto(address);
  await page.waitForSelector('#cookies', { state: 'visible' });
  assert.match((await page.textContent('#cookies')) ?? '', /needs a cookie/);
  assert.ok(await page.isHidden('#working'));
  const { text } = await dataplane.visit('a.test', '/', { headers: { accept: 'text/html' } });
  assert.match(text, /<noscript><p>This check needs JavaScript/);
});
