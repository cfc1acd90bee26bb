import assert from 'node:assert/strict';
import { test } from 'node:test';
import { browserOpener, openBrowser } from './open-browser.ts';

test('a browser is opened where a screen is, but neither over SSH nor with sudo', () => {
  assert.equal(browserOpener('linux', { DISPLAY: ':0' }), 'xdg-open');
  assert.equal(browserOpener('linux', { WAYLAND_DISPLAY: 'wayland-0' }), 'xdg-open');
  assert.equal(browserOpener('linux', { DISPLAY: '' }), null);
  assert.equal(browserOpener('darwin', {}), 'open');
  for (const platform of ['linux', 'darwin'] as const) {
    assert.equal(browserOpener(platform, { DISPLAY: ':10', SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22' }), null);
    assert.equal(browserOpener(platform, { DISPLAY: ':0', SUDO_UID: '1000' }), null);
  }
});

test('a missing program does no harm', async () => {
  const { promise: failed, resolve: fail } = Promise.withResolvers();
  process.on('uncaughtException', fail);
  openBrowser('/nowhere/no-such-opener', 'http://127.0.0.1:1/');
  openBrowser('false', 'http://127.0.0.1:1/');
  const quiet = new Promise((resolve) => setImmediate(() => setImmediate(() => resolve('quiet'))));
  assert.equal(await Promise.race([failed, quiet]), 'quiet');
  process.off('uncaughtException', fail);
});
