import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Browser, missingBrowser, pageProtocol } from '../browser/browser.ts';
import { missing } from '../components.ts';
import { Upstream } from '../testing/upstream.ts';
import type { Pebble } from './testing/pebble.ts';
import { Scene } from './testing/scene.ts';

const skip = missing('pebble') ?? missingBrowser();

test('a browser that requests a new site over HTTP gets it over HTTP/2 with a padlock', {
  skip,
}, async () => {
  await using scene = await Scene.start();
  await using dataplane = await scene.dataplane();
  await using upstream = await Upstream.start('app', (_, response) => {
    response.setHeader('content-type', 'text/html');
    response.end('<!doctype html><title>Shop</title><h1>Shop</h1>');
  });
  await using browser = await Browser.start(scene.folder, [await (scene.pebble as Pebble).root()]);
  const { page } = browser;
  await dataplane.route('shop.example.com', upstream.address);
  // The certificate does not exist yet, so the handshake after the redirect waits for it.
  const answer = await page.goto(`http://shop.example.com:${scene.httpPort}/cart`);
  assert.equal(page.url(), `https://shop.example.com:${scene.httpsPort}/cart`);
  assert.equal(await page.title(), 'Shop');
  assert.equal(await pageProtocol(page), 'h2');
  assert.match(answer?.headers()['strict-transport-security'] ?? '', /max-age=31536000/);
  const padlock = await browser.padlock();
  assert.equal(padlock.state, 'secure');
  assert.match(padlock.issuer, /Pebble Intermediate/);
});
