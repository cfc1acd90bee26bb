import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';
import { Upstream } from '../testing/upstream.ts';
import { Browser, missingBrowser, pageProtocol } from './browser.ts';

describe('with a data plane under attack', { skip: missingBrowser() }, () => {
  const cleaning = new AsyncDisposableStack();
  let httpsPort: number;
  let dataplane: Dataplane;
  let browser: Browser;
  before(async () => {
    const folder = cleaning.use(new Folder());
    httpsPort = await freePort();
    dataplane = cleaning.use(
      await Dataplane.start({ stateDir: folder.file('state'), workers: 2, flags: ['--https-port', `${httpsPort}`] }),
    );
    // The authority makes its root for the first site.
    await dataplane.route('first.test', '127.0.0.1:1', { https: 'internal' });
    const root = await until('the root', async () => {
      const answer = await dataplane.admin('GET', '/certificates/root');
      return answer.status === 200 ? answer.text : null;
    });
    browser = cleaning.use(await Browser.start(folder, [root]));
  });
  after(() => cleaning.disposeAsync());

  test('a browser solves the challenge without its user and sees the page, over HTTP/1.1 and HTTP/2', async () => {
    await using upstream = await Upstream.start('app', (request, response) => {
      response.setHeader('content-type', 'text/html');
      response.end(`<!doctype html><title>Shop</title><h1>${request.url}</h1>`);
    });
    await dataplane.route('plain.test', upstream.address, { https: 'off', under_attack: true });
    await dataplane.route('safe.test', upstream.address, { https: 'internal', under_attack: true, challenge: { difficulty: 14 } });
    assert.equal((await dataplane.visit('plain.test')).status, 503);
    assert.equal(upstream.requests, 0);
    const page = await browser.newVisitor();
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

  test('a browser without cookies or scripts is told what the check needs', async () => {
    const route = { domain: 'a.test', upstream: null, tls: false, under_attack: true, challenge: { difficulty: 8 } };
    await dataplane.admin('POST', '/routes', { ...route, respond: { status: 200, body: 'in' } });
    const address = `http://a.test:${dataplane.httpPort}/`;
    const page = await browser.newVisitor();
    await page.addInitScript("Object.defineProperty(document, 'cookie', { get: () => '', set: () => undefined })");
    await page.goto(address);
    await page.waitForSelector('#cookies', { state: 'visible' });
    assert.match((await page.textContent('#cookies')) ?? '', /needs a cookie/);
    assert.ok(await page.isHidden('#working'));
    const { text } = await dataplane.visit('a.test', '/', { headers: { accept: 'text/html' } });
    assert.match(text, /<noscript><p>This check needs JavaScript/);
  });
});
