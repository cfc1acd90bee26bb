import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';
import { Upstream } from '../testing/upstream.ts';
import { Browser, missingBrowser, pageProtocol } from './browser.ts';

describe('with the internal authority', { skip: missingBrowser() }, () => {
  const cleaning = new AsyncDisposableStack();
  let httpsPort: number;
  let dataplane: Dataplane;
  before(async () => {
    const folder = cleaning.use(new Folder());
    httpsPort = await freePort();
    const flags = ['--https-port', `${httpsPort}`, '--local-certs'];
    dataplane = cleaning.use(await Dataplane.start({ stateDir: folder.file('state'), flags }));
  });
  after(() => cleaning.disposeAsync());

  test('a browser that trusts the root shows a padlock over HTTP/2, even after a redirect from HTTP', async () => {
    using folder = new Folder();
    await using upstream = await Upstream.start('app', (_, response) => {
      response.setHeader('content-type', 'text/html');
      response.end('<!doctype html><title>Hello</title><h1>Hello</h1>');
    });
    await dataplane.route('shop.test', upstream.address);
    const root = await until('the root', async () => {
      const answer = await dataplane.admin('GET', '/certificates/root');
      return answer.status === 200 ? answer.text : null;
    });
    await using browser = await Browser.start(folder, [root]);
    const { page } = browser;
    const answer = await page.goto(`http://shop.test:${dataplane.httpPort}/cart?a=b`);
    assert.equal(page.url(), `https://shop.test:${httpsPort}/cart?a=b`);
    assert.equal(answer?.status(), 200);
    assert.equal(await page.title(), 'Hello');
    assert.equal(await pageProtocol(page), 'h2');
    const padlock = await browser.padlock();
    assert.equal(padlock.state, 'secure');
    assert.match(padlock.issuer, /internal authority/);
  });

  test('a browser shows a warning if and only if it does not trust the root', async () => {
    using folder = new Folder();
    await dataplane.admin('POST', '/routes', {
      domain: 'other.test',
      upstream: null,
      tls: false,
      https: 'internal',
      respond: { status: 200, body: 'x' },
    });
    await until('the root', async () => (await dataplane.admin('GET', '/certificates/root')).status === 200);
    await using browser = await Browser.start(folder, []);
    await assert.rejects(browser.page.goto(`https://other.test:${httpsPort}/`), /ERR_CERT_AUTHORITY_INVALID/);
  });
});
