import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { bytes, count, duration, percent } from '../../dataplane/admin/dashboard/page/data/format.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import type { History, HistoryCounts } from '../../shared/wire/history.ts';
import { Folder } from '../testing/dataplane.ts';
import { childrenOf, Pair } from '../testing/pair.ts';
import { freePort } from '../testing/ports.ts';
import { Upstream } from '../testing/upstream.ts';
import { Browser, missingBrowser } from './browser.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const [TOKEN, VIEW_TOKEN] = ['the-admin-token', 'the-view-token'];
const VIEWS = ['#/', '#/hosts/shop.test', '#/alerts', '#/routes', '#/upstreams', '#/certificates', '#/settings', '#/nowhere'];
/** How long a response takes after its first bytes (ms). */
const STREAM_MS = 300;
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0';

/** The pair with a site that has had visits and a site whose target does not exist, and pages of a browser that show its dashboard. */
class Scene {
  readonly pair: Pair;
  private readonly browser: Browser;
  private readonly admin: number;
  private readonly parts: AsyncDisposableStack;

  private constructor(pair: Pair, browser: Browser, admin: number, parts: AsyncDisposableStack) {
    this.pair = pair;
    this.browser = browser;
    this.admin = admin;
    this.parts = parts;
  }

  static async start(): Promise<Scene> {
    const parts = new AsyncDisposableStack();
    const folder = parts.use(new Folder());
    const app = parts.use(
      await Upstream.start('shop', ({ url }, response) => {
        response.writeHead(200, { 'content-type': 'text/html' });
        if (url !== '/stream') return response.end('<p>shop');
        response.write('<p>');
        return setTimeout(() => response.end('shop'), STREAM_MS);
      }),
    );
    const admin = await freePort();
    const sites = `shop.test {\n  reverse_proxy ${app.address}\n  handle /basket/* {\n    respond "empty"\n  }\n}\nnames.test {\n  reverse_proxy ${app.address}\n}\nstream.test {\n  reverse_proxy ${app.address}\n}\nbroken.test {\n  reverse_proxy 127.0.0.1:1\n}\n`;
    const pair = parts.use(
      await Pair.start(folder, sites, {
        flags: ['--admin-listen', `127.0.0.1:${admin}`, '--trusted-proxies', '127.0.0.1/32'],
        env: { SLUICE_ADMIN_TOKEN: TOKEN, SLUICE_VIEW_TOKEN: VIEW_TOKEN },
      }),
    );
    const scene = new Scene(pair, parts.use(await Browser.start(folder, [])), admin, parts);
    await scene.visits();
    return scene;
  }

  /** Visits by different people of different countries, and by a bot. */
  private async visits(): Promise<void> {
    for (const [at, path] of ['/', '/', '/', '/teapots', '/teapots', '/about?utm_source=news'].entries()) {
      const headers = { 'x-forwarded-for': `8.8.${at}.8`, 'user-agent': FIREFOX, referer: 'https://blog.example/post' };
      assert.equal((await this.pair.visit('shop.test', path, { headers })).status, 200);
    }
    await this.pair.visit('shop.test', '/robots.txt', { headers: { 'user-agent': 'Googlebot/2.1' } });
    // Failures in a row take a target out of rotation.
    for (let at = 0; at < 6; at++) await this.pair.visit('broken.test');
    await until('the visits to be counted', async () => (await this.history('shop.test'))?.totals.views === 7);
  }

  /** null before the first visit. */
  async history(host: string): Promise<History | null> {
    const { text, status } = await this.pair.admin(`/analytics/${host}/history`);
    return status === 200 ? (JSON.parse(text) as History) : null;
  }

  /** A page of a browser without storage, which has the token unless that is null. */
  async show(token: string | null = TOKEN): Promise<Shown> {
    const page = await this.browser.newVisitor();
    if (token !== null) await page.addInitScript(`sessionStorage.setItem('sluice-token', ${JSON.stringify(token)})`);
    return new Shown(page, `http://127.0.0.1:${this.admin}/dashboard/`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.parts.disposeAsync();
  }
}

/** A page that shows the dashboard. */
class Shown {
  readonly page: Page;
  readonly url: string;
  /** The browser's errors, and the addresses that it connected to. */
  readonly problems: string[] = [];
  readonly requested: string[] = [];

  constructor(page: Page, url: string) {
    this.page = page;
    this.url = url;
    page.on('console', (message) => void this.problems.push(message.text()));
    page.on('pageerror', (error) => void this.problems.push(String(error)));
    page.on('request', (request) => void this.requested.push(`${request.method()} ${request.url().replace(new URL(url).origin, '')}`));
  }

  async open(view: string): Promise<void> {
    await this.page.goto(`${this.url}${view}`);
    await this.page.locator('.connection.live').waitFor();
    await this.figures();
  }

  /** Waits until the view has its figures. */
  async figures(): Promise<void> {
    await until('the figures', async () => (await this.page.locator('main > p.empty[role=status]').count()) === 0);
  }

  /** The problems that axe finds on the current page. */
  async violations(): Promise<string[]> {
    await this.page.evaluate(AXE);
    const found = await this.page.evaluate<{ id: string; nodes: { html: string; failureSummary: string }[] }[]>(
      `axe.run(document, { runOnly: ${JSON.stringify(RULES)} }).then(({ violations }) => violations)`,
    );
    return found.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.page.context().close();
  }
}

const text = async (page: Page, selector: string): Promise<string> => (await page.locator(selector).first().innerText()).trim();

describe('the dashboard', { skip: missingBrowser() }, () => {
  let scene: Scene;
  before(async () => {
    scene = await Scene.start();
  });
  after(() => scene?.[Symbol.asyncDispose]());

  test('the dashboard shows the figures of the API, in one request for the page and without any to another origin', async () => {
    await using shown = await scene.show();
    const { page, requested } = shown;
    await shown.open('#/hosts/shop.test');
    const { totals, lists } = (await scene.history('shop.test')) as History;
    const metric = (name: string): Promise<string> => text(page, `[data-metric=${name}] .value`);
    const expected: readonly (readonly [string, (counts: HistoryCounts) => string])[] = [
      ['visitors', ({ visitors }) => count(visitors)],
      ['page_views', ({ page_views }) => count(page_views)],
      ['views', ({ views }) => count(views)],
      ['bytes', (counts) => bytes(counts.bytes)],
      ['latency', ({ latency }) => duration(latency.p95)],
      ['errors', ({ status_codes, views }) => percent(status_codes.s5xx / views)],
    ];
    for (const [name, shows] of expected) assert.equal(await metric(name), shows(totals), name);
    assert.deepEqual([totals.visitors, totals.page_views, totals.views, totals.machines.bot], [6, 6, 7, 1]);
    const rows = await page.locator('.bars').first().locator('tbody tr').allInnerTexts();
    const listed = (lists.pages ?? []).map(({ name, count: views }) => `${name} ${count(views)} ${percent(views / totals.page_views)}`);
    assert.deepEqual(
      rows.map((row) => row.replace(/\s+/g, ' ').trim()),
      listed,
    );
    assert.match(await text(page, '.title'), /6 visitors now/);
    assert.deepEqual(
      requested.filter((request) => !/^GET \/(?:dashboard\/|events\?view=dashboard&history=shop\.test&|explain\?)/.test(request)),
      [],
    );
    assert.equal(requested.length, new Set(requested).size, 'one request for each');
    assert.deepEqual(shown.problems, []);
  });

  test('the response time of a page lasts until its end, and the page says so', async () => {
    await using shown = await scene.show();
    assert.equal((await scene.pair.visit('stream.test', '/stream')).status, 200);
    await until('the visit to be counted', async () => (await scene.history('stream.test'))?.totals.views === 1);
    const { latency } = ((await scene.history('stream.test')) as History).totals;
    assert.ok(latency.p50 >= STREAM_MS * 0.98, `${latency.p50}`);
    await shown.open('#/hosts/stream.test');
    const card = shown.page.locator('.card', { hasText: duration(latency.p50) }).filter({ has: shown.page.getByText('3 of 4') });
    assert.match(await card.innerText(), /^Response time\n[\s\S]*to the end of its response/);
    assert.match(await text(shown.page, '[data-metric=latency]'), /^Response time/);
    assert.match((await shown.page.locator('[data-metric=latency]').getAttribute('title')) ?? '', /complete/);
  });

  test('the graph of a period that was chosen is the graph of a page that was opened with it, and so are the times below it', async () => {
    await using shown = await scene.show();
    const { page } = shown;
    await page.emulateMedia({ reducedMotion: 'reduce' });
    const drawn = async (range: string): Promise<string> => {
      await page.locator('.periods button[aria-pressed=true]', { hasText: range }).waitFor();
      await page.locator('[role=slider][aria-valuemax="6"]').waitFor();
      // It is drawn in a later frame than its times.
      for (let before = ''; ; ) {
        await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
        const now = await page.evaluate<string>("document.querySelector('.plot canvas').toDataURL()");
        if (now === before) return now;
        before = now;
      }
    };
    await shown.open('#/hosts/shop.test?range=month');
    await page.locator('[role=slider][aria-valuemax="29"]').waitFor();
    await page.getByRole('button', { name: '7 days' }).click();
    const chosen = await drawn('7 days');
    await page.reload();
    assert.equal(await drawn('7 days'), chosen);
  });

  test('names that visitors choose are shown as text, change no direction, and push no figure out of its card', async () => {
    await using shown = await scene.show();
    const { page } = shown;
    const name = `\u202egnp.<img src=x onerror=window.ran=1></script><script>window.ran=1</script>${'A'.repeat(600)}`;
    const query = ['source', 'medium', 'campaign'].map((one) => `utm_${one}=${encodeURIComponent(name)}`).join('&');
    const headers = { 'user-agent': FIREFOX, 'x-forwarded-for': '8.8.8.8', referer: `https://blog.example/${encodeURIComponent(name)}` };
    assert.equal((await scene.pair.visit('names.test', `/${encodeURIComponent(name)}?${query}`, { headers })).status, 200);
    await until('the visit to be counted', async () => (await scene.history('names.test'))?.totals.views === 1);
    for (const width of [360, 1_440, 3_840]) {
      await page.setViewportSize({ width, height: 900 });
      await shown.open('#/hosts/names.test');
      await page.getByRole('tab', { name: 'Sources' }).click();
      await page.locator('.bars .name', { hasText: 'U+202E' }).first().waitFor();
      const outside = await page.evaluate<number>(
        "[...document.querySelectorAll('.bars td')].filter((cell) => cell.getBoundingClientRect().right > cell.closest('.card').getBoundingClientRect().right).length",
      );
      assert.equal(outside, 0, `${width}`);
    }
    assert.equal(await page.evaluate('window.ran'), undefined);
    assert.deepEqual(shown.problems, []);
  });

  test('on paper the whole graph is in its card, bars have their colours, and what could be pressed is left out', async () => {
    await using shown = await scene.show();
    const { page } = shown;
    await page.setViewportSize({ width: 1_440, height: 900 });
    await shown.open('#/hosts/shop.test');
    const width = () => page.evaluate<number>("document.querySelector('.plot canvas').getBoundingClientRect().width");
    const onScreen = await width();
    await page.emulateMedia({ media: 'print' });
    await page.evaluate("dispatchEvent(new Event('beforeprint'))");
    await until('the graph', async () => (await width()) <= 640);
    assert.equal(await page.locator('nav, button.search, [role=tab][aria-selected=false]').filter({ visible: true }).count(), 0);
    assert.equal(await page.evaluate("getComputedStyle(document.querySelector('.bars .bar')).printColorAdjust"), 'exact');
    await page.emulateMedia({ media: 'screen' });
    await page.evaluate("dispatchEvent(new Event('afterprint'))");
    await until('the graph', async () => (await width()) === onScreen);
  });

  test('the graph is light on paper, although the browser is dark', async () => {
    await using shown = await scene.show();
    const { page } = shown;
    await page.emulateMedia({ colorScheme: 'dark' });
    await shown.open('#/hosts/shop.test');
    /** Whether the canvas has lines of this color. */
    const hasLines = (red: number, green: number, blue: number) =>
      page.evaluate<boolean>(`{
        const { width, height } = document.querySelector('.plot canvas');
        const { data } = document.querySelector('.plot canvas').getContext('2d').getImageData(0, 0, width, height);
        let found = false;
        for (let at = 0; at < data.length; at += 4)
          found ||= data[at] === ${red} && data[at + 1] === ${green} && data[at + 2] === ${blue} && data[at + 3] === 255;
        found;
      }`);
    const [light, dark] = [() => hasLines(0xe2, 0xe5, 0xe8), () => hasLines(0x2c, 0x32, 0x37)];
    await until('dark lines', dark);
    await page.evaluate("dispatchEvent(new Event('beforeprint'))");
    await until('light lines', async () => (await light()) && !(await dark()));
    await page.evaluate("dispatchEvent(new Event('afterprint'))");
    await until('dark lines again', async () => (await dark()) && !(await light()));
  });

  test('periods are those of the proxy if the clock of the browser is wrong', async () => {
    for (const days of [-3, 400]) {
      await using shown = await scene.show();
      await shown.page.addInitScript(`{
        const Real = Date;
        const now = () => Real.now() + ${days * 86_400_000};
        Date = class extends Real {
          constructor(...given) { super(...(given.length > 0 ? given : [now()])); }
          static now() { return now(); }
        };
      }`);
      await shown.open('#/hosts/shop.test');
      const views = async () => await text(shown.page, '[data-metric=views] .value');
      await until('the visits', async () => (await views()) === '7');
    }
  });

  test('a page that does not exist says so, with any name', async () => {
    await using shown = await scene.show();
    for (const name of ['nowhere', 'constructor', '__proto__', 'toString']) {
      await shown.open(`#/${name}`);
      await shown.page.locator('main h1', { hasText: 'There is no such page.' }).waitFor({ timeout: 5_000 });
    }
    assert.deepEqual(shown.problems, []);
  });

  test('every view is accessible, light and dark, and fits from 360 pixels to 4K', async () => {
    await using shown = await scene.show();
    const { page } = shown;
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      for (const view of VIEWS) {
        await page.setViewportSize({ width: colorScheme === 'light' ? 1_280 : 360, height: 800 });
        await shown.open(view);
        assert.deepEqual(await shown.violations(), [], `${view} ${colorScheme}`);
        for (const width of [360, 768, 1_280, 3_840]) {
          await page.setViewportSize({ width, height: 800 });
          const wider = await page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
          assert.ok(wider <= 0, `${view} is ${wider} pixels wider than ${width}`);
          const cut = await page.evaluate<number>(
            "[...document.querySelectorAll('.scroll.stacked')].filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).length",
          );
          assert.equal(cut, 0, `tables of ${view} are cut off at ${width}`);
        }
      }
    }
    assert.deepEqual(shown.problems, []);
  });

  test('the keyboard reaches the search, the points of the graph and the lists', async () => {
    await using shown = await scene.show();
    const { page } = shown;
    await shown.open('#/');
    await page.keyboard.press('/');
    await page.keyboard.type('basket');
    await page.locator('[role=option]', { hasText: '/basket/*' }).waitFor();
    assert.deepEqual(await shown.violations(), []);
    await page.keyboard.press('Enter');
    await page.waitForURL(/#\/hosts\/shop\.test$/);
    // Until then the graph is that of all hosts.
    await page.locator('h1', { hasText: 'shop.test' }).waitFor();
    await shown.figures();
    const graph = page.locator('[role=slider]');
    await graph.focus();
    const read = () => graph.getAttribute('aria-valuetext');
    const last = await read();
    await page.keyboard.press('ArrowLeft');
    const visitors = [last, await read()].map((text) => Number(/: (\d+)$/.exec(text ?? '')?.[1]));
    // An hour may have begun since the visits.
    assert.deepEqual(visitors.sort(), [0, 6]);
    await page.keyboard.press('Home');
    assert.equal(await graph.getAttribute('aria-valuenow'), '0');
    await page.keyboard.press('End');
    assert.equal(await read(), last);
    await page.getByRole('tab', { name: 'Referrers' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('tabpanel').filter({ hasText: 'news' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('shop');
    await page.keyboard.press('Escape');
    await page.locator('dialog').waitFor({ state: 'detached' });
  });

  test('the chosen result of the search stays in view, below the field, however many there are', async () => {
    await using shown = await scene.show();
    const { page } = shown;
    await page.setViewportSize({ width: 390, height: 260 });
    await shown.open('#/');
    await page.keyboard.press('/');
    await page.keyboard.type('shop');
    await page.locator('[role=option]').nth(5).waitFor();
    const edges = async (selector: string): Promise<readonly [top: number, bottom: number]> => {
      const { y, height } = (await page.locator(selector).boundingBox()) ?? assert.fail(selector);
      return [y, y + height];
    };
    for (const key of [...Array<string>(5).fill('ArrowDown'), ...Array<string>(5).fill('ArrowUp')]) {
      await page.keyboard.press(key);
      const [[, field], [top, bottom], [, end]] = [
        await edges('dialog .line'),
        await edges('[role=option][aria-selected=true]'),
        await edges('dialog'),
      ];
      assert.ok(field <= top && bottom <= end, `${key}: ${[field, top, bottom, end]}`);
    }
    assert.deepEqual(await shown.violations(), []);
  });

  test('over TCP the token is asked once; the view token shows everything but the settings', async () => {
    await using shown = await scene.show(null);
    const { page } = shown;
    await page.goto(shown.url);
    const enter = async (token: string): Promise<void> => {
      await page.getByLabel('Token', { exact: true }).fill(token);
      await page.keyboard.press('Enter');
    };
    await enter('wrong');
    await page.getByRole('alert').waitFor();
    assert.deepEqual(await shown.violations(), []);
    await enter(VIEW_TOKEN);
    await page.locator('.connection.live').waitFor();
    await page.reload();
    for (const view of ['#/', '#/alerts', '#/routes', '#/upstreams', '#/certificates']) {
      await shown.open(view);
      assert.equal(await page.getByRole('alert').count(), 0, view);
    }
    await shown.open('#/settings');
    await page.getByText('The view token does not show the settings').waitFor();
  });

  test('a token is not said to be wrong before the proxy has answered, and one from before a restart is', async () => {
    await using shown = await scene.show('from before');
    const { page } = shown;
    const [field, wrong] = [page.getByLabel('Token', { exact: true }), page.getByText('does not accept this token')];
    await page.goto(shown.url);
    await wrong.waitFor();
    // The answer is on its way for as long as the test likes.
    const held = Promise.withResolvers<void>();
    await page.route('**/events?*', async (route) => {
      await held.promise;
      await route.continue();
    });
    await field.fill(VIEW_TOKEN);
    await page.keyboard.press('Enter');
    await page.getByText('Waiting for the proxy').waitFor();
    assert.deepEqual([await wrong.count(), await field.inputValue()], [0, VIEW_TOKEN]);
    assert.deepEqual(await shown.violations(), []);
    held.resolve();
    await page.locator('.connection.live').waitFor();
  });

  // From here on, tests change what is served.
  test('alerts come first with what to do, disappear by themselves, and lead to their hosts', async () => {
    await using shown = await scene.show();
    const { page } = shown;
    await shown.open('#/');
    const alert = page.locator('.card.wrong li', { hasText: 'broken.test' });
    await alert.waitFor();
    assert.notEqual(await text(page, '.card.wrong .action'), '');
    await alert.locator('a').first().click();
    await page.waitForURL(/#\/hosts\/broken\.test$/);
    scene.pair.write('shop.test {\n  respond "hello"\n}\n');
    await shown.open('#/');
    await page.locator('p.fine').waitFor();
  });

  test('routes that take longer to arrive than they stay the same are shown nevertheless', async () => {
    await using shown = await scene.show();
    const { page } = shown;
    const session = await page.context().newCDPSession(page);
    await session.send('Network.enable');
    let pieces = 0;
    // On this view, only the stream of overviews sends anything meanwhile.
    session.on('Network.dataReceived', () => void pieces++);
    const asked = Promise.withResolvers<void>();
    const slowly = async (route: Route) => {
      const response = await route.fetch();
      // The page hears of two newer tables before this one arrives.
      for (const site of ['one.test', 'another.test']) {
        scene.pair.write(`shop.test {\n  respond "hello"\n}\n${site} {\n  respond "new"\n}\n`);
        await until('the change', async () => (await scene.pair.visit(site)).status === 200);
        const before = pieces;
        await until('two overviews since then', () => pieces >= before + 2);
      }
      asked.resolve();
      // It fails if the page no longer waits for the response.
      await route.fulfill({ response }).catch(() => undefined);
    };
    // Later requests get no response: what is shown is that of the first.
    await page.route('**/routes?view=full', () => undefined);
    await page.route('**/routes?view=full', slowly, { times: 1 });
    await page.goto(`${shown.url}#/routes`);
    await asked.promise;
    await page.locator('th', { hasText: 'shop.test' }).waitFor();
  });

  test('the view of the catch-all shows no figures of other hosts, and that its hosts have their own', async () => {
    await using shown = await scene.show();
    const { page } = shown;
    scene.pair.write('shop.test {\n  respond "hello"\n}\n* {\n  respond "any"\n}\n');
    await until('the catch-all', async () => (await scene.pair.visit('any.test')).status === 200);
    await shown.open('#/hosts/*');
    await page.getByText('Each host that this route serves has figures of its own').waitFor();
    assert.equal(await page.locator('.total').count(), 0);
    assert.match(await text(page, '.facts dd'), /answered by respond/);
    await shown.open('#/hosts/shop.test');
    await page.locator('.total').first().waitFor();
  });

  test('a period that is longer than the proxy answers is refused where it is chosen, and one in the address is the usual one', async () => {
    await using shown = await scene.show();
    const { page } = shown;
    await shown.open('#/?range=own&from=2000-01-01&to=2026-11-01');
    await page.locator('.total').first().waitFor();
    await page.getByRole('button', { name: 'Own period' }).click();
    await page.getByLabel('From', { exact: true }).fill('2000-01-01');
    await page.getByText('A period has at most 1,000 days.').waitFor();
    const before = page.url();
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    assert.equal(page.url(), before);
    await page.locator('.connection.live').waitFor();
  });

  test('a host whose figures do not arrive shows none, instead of those of the view before', async () => {
    await using shown = await scene.show();
    const { page } = shown;
    await shown.open('#/');
    await page.locator('.total').first().waitFor();
    await page.route(/events\?.*history=shop\.test/, (route) => route.abort());
    await page.goto(`${shown.url}#/hosts/shop.test`);
    await page.locator('h1', { hasText: 'shop.test' }).waitFor();
    await page.locator('.connection.lost').waitFor();
    assert.equal(await page.locator('.total').count(), 0);
  });

  test('figures of the period before are marked as such until those of the chosen one arrive', async () => {
    await using shown = await scene.show();
    const { page } = shown;
    await shown.open('#/hosts/shop.test');
    await page.locator('.graph[aria-busy=false]').waitFor();
    // The answer is on its way for as long as the test likes.
    const held = Promise.withResolvers<void>();
    await page.route(/\/events\?/, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.getByRole('button', { name: '7 days' }).click();
    await page.locator('.graph[aria-busy=true]').waitFor();
    await page.locator('.grid[aria-busy=true]').waitFor();
    held.resolve();
    await page.locator('[role=slider][aria-valuemax="6"]').waitFor();
    await page.locator('.graph[aria-busy=false]').waitFor();
  });

  test('a period that is chosen while the connection is lost shows no figures of the one before', async () => {
    await using shown = await scene.show();
    const { page } = shown;
    await shown.open('#/hosts/shop.test');
    const figures = page.locator('.total');
    await figures.first().waitFor();
    await page.route(/\/events\?/, (route) => route.abort());
    await page.getByRole('button', { name: '7 days' }).click();
    await page.locator('.connection.lost').waitFor();
    assert.equal(await figures.count(), 0);
    await page.unroute(/\/events\?/);
    await page.locator('.connection.live').waitFor();
    await figures.first().waitFor();
    await page.locator('[role=slider][aria-valuemax="6"]').waitFor();
  });

  test('hosts have the names that their owners write, and those that browsers send beside them', async () => {
    await using shown = await scene.show();
    const { page } = shown;
    const sent = 'xn--e1afmkfd.test';
    scene.pair.write(`${sent} {\n  respond "hello"\n}\n`);
    await until('the site', async () => (await scene.pair.visit(sent)).status === 200);
    await shown.open('#/routes');
    await page.getByRole('link', { name: 'пример.test' }).click();
    await page.locator('h1', { hasText: 'пример.test' }).waitFor();
    assert.equal(new URL(page.url()).hash, `#/hosts/${sent}`);
    assert.match(await text(page, '.title'), new RegExp(sent));
    assert.match(await page.title(), /^пример\.test/);
    assert.deepEqual(await shown.violations(), []);
  });

  test('the page says that the connection is lost while the data plane is restarted, and continues by itself', async () => {
    await using shown = await scene.show();
    const { page } = shown;
    await shown.open('#/');
    process.kill((await childrenOf(scene.pair.program.pid)).dataplane, 'SIGKILL');
    await page.locator('.connection', { hasText: 'Connection lost. Figures as of' }).waitFor();
    await page.locator('.connection.live').waitFor();
    // The controller connects again within the grace period.
    assert.equal(await page.locator('.card.wrong li', { hasText: 'disconnected' }).count(), 0);
  });
});
