import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { connect } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { type Audience, LIST_NAMES, type ListName } from '../protocol.ts';
import { ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { BOTS, BROWSERS, MONITORS } from '../testing/samples/browsers.ts';

type Fields = Readonly<Record<string, string>>;
/** One way for a request to arrive. @returns its status. */
type Protocol = { readonly name: string; request(path: string, fields: Fields, method?: string): Promise<number> };

const TYPES: Readonly<Record<string, string>> = { css: 'text/css', js: 'text/javascript', png: 'image/png', json: 'application/json' };
const [CHROME] = BROWSERS;
if (CHROME === undefined) throw new Error('no browser');
const person: Fields = CHROME.fields;

const upstream = createServer(({ url = '' }, response) => {
  const path = url.split('?')[0] ?? '';
  const status = Number(/^\/status\/(\d+)/.exec(path)?.[1] ?? 200);
  const type = TYPES[path.split('.')[1] ?? ''] ?? 'text/html; charset=utf-8';
  response.writeHead(status, status === 304 ? {} : { 'content-type': type });
  response.end();
});
let proxy: ProxyFixture;

before(async () => {
  await once(upstream.listen(0, '127.0.0.1'), 'listening');
  const address = `127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const analytics = { exclude: ['203.0.113.0/24', '/admin/*'] };
  proxy = await ProxyFixture.start([{ ...site('a.test', { address }), analytics } as ReturnType<typeof site>], ['127.0.0.1']);
});
after(() => {
  proxy[Symbol.dispose]();
  upstream.close().closeAllConnections();
});

const http1: Protocol = {
  name: 'HTTP/1.1',
  request: (path, fields, method = 'GET') =>
    new Promise((resolve, reject) => {
      const sent = request({ port: proxy.port, host: '127.0.0.1', path, method, agent: false, headers: { host: 'a.test', ...fields } });
      sent.on('response', (response) => response.resume().on('end', () => resolve(response.statusCode ?? 0)));
      sent.on('error', reject).end();
    }),
};

const http2: Protocol = {
  name: 'HTTP/2',
  request: async (path, fields, method = 'GET') => {
    const session = connect(`http://127.0.0.1:${proxy.port}`);
    try {
      const stream = session.request({ ...fields, ':path': path, ':method': method, ':authority': 'a.test' }, { endStream: true });
      const [answer] = await once(stream.resume(), 'response');
      if (!stream.closed) await once(stream, 'close');
      return Number(answer[':status']);
    } finally {
      session.destroy();
    }
  },
};

/** The visitors counted since the last call. */
function counted(): Audience & { readonly requests: number } {
  proxy.collect(0);
  const report = proxy.messages.findLast((message) => message.kind === 'report');
  const domain = report?.report.domains.find(({ host }) => host === 'a.test');
  assert.ok(domain, 'nothing was counted');
  const { humans, machines } = domain.audience;
  assert.equal(humans + Object.values(machines).reduce((sum, one) => sum + one, 0), domain.requests);
  return { ...domain.audience, requests: domain.requests };
}

/** The lists that are not empty. */
const listed = ({ lists }: Audience): Partial<Record<ListName, object>> =>
  Object.fromEntries(LIST_NAMES.filter((name) => lists[name].length > 0).map((name) => [name, Object.fromEntries(lists[name])]));

for (const protocol of [http1, http2])
  describe(`over ${protocol.name}`, () => {
    for (const { name, fields, listed: client } of BROWSERS)
      test(`${name} is a person who views a page`, async () => {
        assert.equal(await protocol.request('/about', fields), 200);
        const audience = counted();
        assert.deepEqual([audience.humans, audience.pageViews, audience.visitors.length], [1, 1, 1]);
        const [browsers, systems, devices] = client;
        assert.deepEqual(listed(audience), {
          pages: { '/about': 1 },
          browsers: { [browsers]: 1 },
          systems: { [systems]: 1 },
          devices: { [devices]: 1 },
        });
      });

    const machines: readonly (readonly [reason: keyof Audience['machines'], what: string, path: string, fields: Fields])[] = [
      ...BOTS.map((agent) => ['bot', agent || 'an empty User-Agent', '/', { 'user-agent': agent }] as const),
      ['bot', 'no User-Agent', '/', {}],
      ...MONITORS.map((agent) => ['monitor', agent, '/', { 'user-agent': agent }] as const),
      ['prefetch', 'Chromium prefetching', '/', { ...person, 'sec-purpose': 'prefetch' }],
      ['prefetch', 'Chromium prerendering', '/', { ...person, 'sec-purpose': 'prefetch;prerender', purpose: 'prefetch' }],
      ['prefetch', 'Firefox prefetching', '/', { ...person, 'x-moz': 'prefetch' }],
      ['prefetch', 'Safari previewing', '/', { ...person, 'x-purpose': 'preview' }],
      ['gpc', 'a person who asks not to be tracked', '/', { ...person, 'sec-gpc': '1' }],
      ['excluded', 'an excluded address', '/', { ...person, 'x-forwarded-for': '203.0.113.9' }],
      ['excluded', 'an excluded path', '/admin/users', person],
      // The first reason that applies.
      ['excluded', 'an excluded bot', '/admin/', { 'user-agent': 'curl/8.5.0', 'sec-gpc': '1' }],
      ['gpc', 'a prefetch of a person who asks not to be tracked', '/', { ...person, 'sec-gpc': '1', 'sec-purpose': 'prefetch' }],
      ['prefetch', 'a bot that prefetches', '/', { 'user-agent': 'curl/8.5.0', purpose: 'prefetch' }],
    ];
    for (const [reason, what, path, fields] of machines)
      test(`${what} is counted as ${reason}, and in no list`, async () => {
        await protocol.request(path, fields);
        const audience = counted();
        assert.deepEqual([audience.humans, audience.machines[reason], audience.pageViews, audience.visitors.length], [0, 1, 0, 0]);
        assert.deepEqual(listed(audience), {});
      });

    const requests: readonly [what: string, pageViews: number, path: string, fields?: Fields, method?: string][] = [
      ['a page that a browser has already', 1, '/status/304'],
      ['a page that is not there', 0, '/status/404'],
      ['a failing page', 0, '/status/500'],
      ['a redirect', 0, '/status/302'],
      ['a form', 0, '/', person, 'POST'],
      ['a HEAD', 0, '/', person, 'HEAD'],
      ['a style sheet', 0, '/a.css', { ...person, 'sec-fetch-dest': 'style' }],
      ['a style sheet for a browser that does not say what it is for', 0, '/a.css', { 'user-agent': person['user-agent'] ?? '' }],
      ['an image that is looked at by itself', 0, '/a.png'],
      ['a frame', 1, '/frame', { ...person, 'sec-fetch-dest': 'iframe' }],
      ['what a script fetches', 1, '/part', { ...person, 'sec-fetch-dest': 'empty' }],
    ];
    for (const [what, pageViews, path, fields = person, method] of requests)
      test(`${what} is ${pageViews === 1 ? 'a page view' : 'a request of a person and no page view'}`, async () => {
        await protocol.request(path, fields, method);
        const audience = counted();
        assert.deepEqual([audience.humans, audience.visitors.length, audience.pageViews], [1, 1, pageViews]);
        assert.deepEqual(listed(audience).pages, pageViews === 1 ? { [path]: 1 } : undefined);
      });

    test('a page that another site links to is an entry page, and the campaign of its link is listed', async () => {
      await protocol.request('/?utm_source=news&utm_medium=e-mail&utm_campaign=Gr%C3%BC%C3%9Fe', {
        ...person,
        referer: 'https://www.news.example/today?private=1',
      });
      await protocol.request('/next', { ...person, referer: 'https://a.test/?utm_source=news' });
      const audience = counted();
      assert.equal(audience.visitors.length, 1);
      assert.deepEqual(listed(audience), {
        pages: { '/': 1, '/next': 1 },
        entry_pages: { '/': 1 },
        referrers: { 'www.news.example': 1 },
        browsers: { Chrome: 2 },
        systems: { Windows: 2 },
        devices: { desktop: 2 },
        utm_source: { news: 1 },
        utm_medium: { 'e-mail': 1 },
        utm_campaign: { Grüße: 1 },
      });
    });

    test('people are distinguished by the address that a trusted proxy reports', async () => {
      for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.1']) await protocol.request('/', { ...person, 'x-forwarded-for': address });
      const { humans, visitors } = counted();
      assert.deepEqual([humans, visitors.length], [3, 2]);
    });
  });

test('the lists of a host between two reports are bounded, and every request is still counted', async () => {
  const session = connect(`http://127.0.0.1:${proxy.port}`);
  const total = 2_500;
  for (let from = 0; from < total; from += 50)
    await Promise.all(
      Array.from({ length: 50 }, async (_, at) => {
        const path = `/p${from + at}?utm_source=s${from + at}`;
        const fields = { ...person, referer: `https://r${from + at}.example/` };
        const stream = session.request({ ...fields, ':path': path, ':authority': 'a.test' }, { endStream: true });
        stream.resume();
        await once(stream, 'close');
      }),
    );
  session.destroy();
  const { pageViews, lists } = counted();
  assert.equal(pageViews, total);
  for (const name of ['pages', 'entry_pages', 'referrers', 'utm_source'] as const) assert.equal(lists[name].length, 2_048, name);
});
