import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { isForwarded } from '../../controller/cli/dashboard/forwarded-paths.ts';
import { ENDPOINTS, VIEWABLE } from '../../dataplane/admin/endpoints/endpoints.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { Browser, missingBrowser } from '../browser/browser.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { Program, SLUICE } from '../testing/process.ts';
import { Upstream } from '../testing/upstream.ts';

/** The responses that a page on another port of this machine, which is the same site to a browser, gets from the dashboard. */
async function stolenBy(browser: Browser, address: URL): Promise<string[]> {
  const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<!doctype html>'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const page = await browser.page.context().newPage();
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}${address.pathname}`);
    const tried = await page.evaluate(`Promise.all(['same-origin', 'include'].flatMap((credentials) => ['cors', 'no-cors'].map((mode) =>
      fetch('${new URL('../routes?view=full', address)}', { credentials, mode }).then((one) => one.text(), () => 'refused'))))`);
    const framed = await page.evaluate(`new Promise((resolve) => {
      const frame = document.createElement('iframe');
      frame.onload = () => { try { resolve(frame.contentDocument.body.textContent); } catch { resolve('refused'); } };
      frame.src = '${address}';
      document.body.append(frame);
    })`);
    await page.close();
    return [...(tried as string[]), framed as string];
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test('sluice dashboard forwards the page, what the view token reads except for metrics, and the settings', () => {
  const expected = ENDPOINTS.filter(({ handler }) => (VIEWABLE.has(handler) && handler !== 'metrics') || handler === 'settings');
  const forwarded = ENDPOINTS.filter(({ path }) => isForwarded(path.replace('{domain}', 'a.test')));
  assert.deepEqual(new Set(forwarded.map(({ path }) => path)), new Set([...expected.map(({ path }) => path), '/dashboard/']));
});

describe('beside a data plane', () => {
  const folder = new Folder();
  const socket = folder.file('admin.sock');
  let dataplane: Dataplane;
  before(async () => {
    dataplane = await Dataplane.start({ stateDir: folder.file('state'), flags: ['--admin-socket', socket] });
  });
  after(async () => {
    await dataplane?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('sluice dashboard shows one browser the page with live data', { skip: missingBrowser() }, async () => {
    await using app = await Upstream.start('app', (_, response) => response.end('ok'));
    await dataplane.route('shop.test', app.address);
    await dataplane.visit('shop.test');
    await using command = new Program(SLUICE, ['dashboard', '--admin', `unix:${socket}`]);
    await command.said('Ctrl-C');
    const [address = ''] = /http:\S+/.exec(command.stdout) ?? [];
    await using browser = await Browser.start(folder, []);
    const { page } = browser;
    const complaints: string[] = [];
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(String(error)));
    await page.goto(address);
    await page.getByText('shop.test').first().waitFor();
    assert.match(new URL(page.url()).pathname, /^\/[\w-]+\/dashboard\/$/);
    assert.ok(!page.url().includes('key'));
    assert.equal(await page.evaluate('document.cookie'), '');
    // A reload, and another tab with the printed address.
    await page.reload();
    await page.getByText('shop.test').first().waitFor();
    const second = await browser.page.context().newPage();
    await second.goto(address);
    await second.getByText('shop.test').first().waitFor();
    await second.close();

    const opened = new URL(page.url());
    const requested = new Set<string>();
    page.on('response', (response) => {
      requested.add(new URL(response.url()).pathname.slice(new URL('..', opened).pathname.length));
      if (response.status() !== 200) complaints.push(`${response.status()} ${response.url()}`);
    });
    for (const [view, path] of [
      ['hosts/shop.test', 'explain'],
      ['routes', 'routes'],
      ['upstreams', 'upstreams'],
      ['certificates', 'certificates'],
      ['settings', 'settings'],
    ] as const) {
      await page.evaluate(`location.hash = '#/${view}'`);
      await until(`${path} to be requested`, () => requested.has(path));
      await page.waitForLoadState('load');
    }
    assert.deepEqual(new Set(await stolenBy(browser, opened)), new Set(['refused']));
    assert.equal((await fetch(address)).status, 403);
    assert.deepEqual(complaints, []);
    process.kill(command.pid, 'SIGINT');
    assert.deepEqual(await command.exited, { code: 0, signal: null });

    // A page that is still open says why it gets no figures of the next command at its port.
    await using next = new Program(SLUICE, ['dashboard', '--admin', `unix:${socket}`, '--dashboard-listen', opened.host]);
    await next.said('Ctrl-C');
    await page.getByText('Open the address that sluice dashboard printed').waitFor();
    await page.reload();
    await page.getByText('Not found: this is not the address of the dashboard that is running.').waitFor();
  });

  test('a site that forwards to the Admin API gets 403 from it, since the requested name is forwarded unchanged', async () => {
    await dataplane.route('admin.test', `unix/${socket}`);
    const { status, text } = await dataplane.visit('admin.test', '/routes');
    assert.equal(status, 403);
    assert.match(text, /^\{"error":"forbidden: the requested host is neither/);
  });
});
