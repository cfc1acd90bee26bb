import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CertificatesFixture } from '../../dataplane/traffic/testing/certificates.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';
import { Upstream } from '../testing/upstream.ts';
import { Browser, missingBrowser, pageProtocol } from './browser.ts';

const PAGE = `<!doctype html><title>shop</title><script src="/app.js" onload="window.outcome = 'loaded'" onerror="window.outcome = 'failed'"></script>`;
/** Valid as it is: a browser that took it for the complete script would run it. */
const HALF = `window.ran = 'half';\n${'// filler\n'.repeat(2_000)}`;
const WHOLE = `${HALF}window.ran = 'whole';\n`;

test('a browser neither runs nor caches a script that is cut off over HTTP/2', {
  skip: missingBrowser(),
}, async () => {
  using folder = new Folder();
  const authority = new CertificatesFixture();
  let asked = 0;
  await using upstream = await Upstream.start('shop', ({ url }, response) => {
    if (url !== '/app.js') return void response.setHeader('content-type', 'text/html').end(PAGE);
    response.writeHead(200, {
      'content-type': 'text/javascript',
      'content-length': WHOLE.length,
      'cache-control': 'public, max-age=31536000, immutable',
    });
    if (++asked > 1) response.end(WHOLE);
    else response.write(HALF, () => response.destroy());
  });
  const httpsPort = await freePort();
  const flags = ['--cert-dir', folder.file('certs'), '--https-port', `${httpsPort}`];
  await using dataplane = await Dataplane.start({ stateDir: folder.file('state'), flags });
  await dataplane.route('shop.example.com', upstream.address);
  const { cert, key } = authority.issue('shop.example.com');
  const body = { domains: ['shop.example.com'], certificate: cert, private_key: key };
  assert.equal((await dataplane.admin('POST', '/certificates', body)).status, 201);
  await using browser = await Browser.start(folder, [authority.ca]);
  const { page } = browser;
  const visit = async (): Promise<unknown> => {
    await page.goto(`https://shop.example.com:${httpsPort}/`);
    return page.evaluate('[window.outcome, window.ran]');
  };
  assert.deepEqual(await visit(), ['failed', undefined]);
  assert.equal(await pageProtocol(page), 'h2');
  assert.deepEqual(await visit(), ['loaded', 'whole']);
  assert.equal(asked, 2);
  // A complete script is cached, which proves that the cache was in use.
  assert.deepEqual(await visit(), ['loaded', 'whole']);
  assert.equal(asked, 2);
});
