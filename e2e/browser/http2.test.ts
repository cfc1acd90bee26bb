import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { CertificatesFixture } from '../../dataplane/traffic/testing/certificates.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { digestOf, LARGE, messageApp } from '../testing/message-app.ts';
import { freePort } from '../testing/ports.ts';
import { Browser, missingBrowser, pageProtocol } from './browser.ts';

const UPLOAD = Buffer.alloc(5_000_000, 'abc');

const PROTOCOLS = ['http1', 'h2c'] as const;

describe('a browser over HTTP/2', { skip: missingBrowser() }, () => {
  const cleaning = new AsyncDisposableStack();
  let httpsPort: number;
  let browser: Browser;

  before(async () => {
    const folder = cleaning.use(new Folder());
    const authority = new CertificatesFixture();
    httpsPort = await freePort();
    const flags = ['--cert-dir', folder.file('certs'), '--https-port', `${httpsPort}`];
    const dataplane = cleaning.use(await Dataplane.start({ stateDir: folder.file('state'), flags }));
    for (const protocol of PROTOCOLS) {
      const app = cleaning.use(await messageApp(protocol));
      await dataplane.route(`${protocol}.example.com`, app.address, protocol === 'h2c' ? { transport: { protocol } } : {});
      const domains = [`${protocol}.example.com`];
      const { cert, key } = authority.issue(...domains);
      assert.equal((await dataplane.admin('POST', '/certificates', { domains, certificate: cert, private_key: key })).status, 201);
    }
    browser = cleaning.use(await Browser.start(folder, [authority.ca]));
  });
  after(() => cleaning.disposeAsync());

  for (const protocol of PROTOCOLS)
    describe(`to a target that speaks ${protocol}`, () => {
      let page: Page;

      before(async () => {
        page = await browser.newVisitor();
        await page.goto(`https://${protocol}.example.com:${httpsPort}/hints`);
        assert.equal(await pageProtocol(page), 'h2');
      });

      const evaluate = (script: string): Promise<string> => page.evaluate<string>(`(async () => { ${script} })()`);

      // The browser decides whether it follows them at once.
      test('shows a page that follows early hints, with the style sheet that they announce', async () => {
        const color = await evaluate(`return getComputedStyle(document.querySelector('p')).color`);
        assert.equal(color, 'rgb(1, 2, 3)');
      });

      test('receives a large response', async () => {
        const digest = await evaluate(`
        const bytes = await (await fetch('/large')).arrayBuffer();
        const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
        return bytes.byteLength + ' ' + [...hash].map((byte) => byte.toString(16).padStart(2, '0')).join('')`);
        assert.equal(digest, digestOf(LARGE));
      });

      test('sends a large request', async () => {
        const digest = await evaluate(
          `return (await fetch('/digest', { method: 'POST', body: 'abc'.repeat(${UPLOAD.length}).slice(0, ${UPLOAD.length}) })).text()`,
        );
        assert.equal(digest, `${digestOf(UPLOAD)} {}`);
      });

      test('streams a request whose length it does not know, which it does over HTTP/2 only', async () => {
        const digest = await evaluate(`
        let left = ${UPLOAD.length};
        const body = new ReadableStream({
          pull(controller) {
            if (left === 0) return controller.close();
            const piece = Math.min(left, 99_999);
            left -= piece;
            controller.enqueue(new TextEncoder().encode('abc'.repeat(piece / 3 + 1).slice(0, piece)));
          },
        });
        return (await fetch('/digest', { method: 'POST', body, duplex: 'half' })).text()`);
        assert.equal(digest, `${digestOf(UPLOAD)} {}`);
      });

      test('makes 200 requests at once, and their priorities arrive', async () => {
        const answers = await evaluate(`
        const all = Array.from({ length: 200 }, (_, at) => fetch('/' + at, { priority: at % 2 === 0 ? 'high' : 'low' }).then((one) => one.text()));
        const wrong = (await Promise.all(all)).filter((text, at) => !text.startsWith('GET /' + at) || /u=1/.test(text) !== (at % 2 === 0));
        return all.length + ' ' + wrong.join()`);
        assert.equal(answers, '200 ');
      });

      test('cancels a response, and the connection serves the next request', async () => {
        const answer = await evaluate(`
        for (let at = 0; at < 20; at++) {
          const stop = new AbortController();
          const response = await fetch('/large?' + at, { signal: stop.signal });
          stop.abort();
        }
        return (await fetch('/after')).text()`);
        assert.match(answer, /^GET \/after/);
      });
    });
});
