import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import type { ConsoleMessage, Page, Response } from 'playwright-core';
import { vitalsScript } from '../../dataplane/traffic/respond/beacon/script.ts';
import { SecureFixture } from '../../dataplane/traffic/testing/proxy/secure-proxy.ts';
import { ProxyFixture, site } from '../../dataplane/traffic/testing/proxy/test-proxy.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { Folder } from '../testing/dataplane.ts';
import { Browser, missingBrowser } from './browser.ts';

const [SCRIPT_PATH, REPORT_PATH] = ['/.sluice/vitals.js', '/.sluice/vitals'];

/**
 * `HOST` and `PORT` are those of the page. `meta` is written into the head. `strict`: the proxy injects nothing although this browser would
 * allow it.
 */
type Case = {
  readonly policy?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly meta?: string;
  readonly page?: string;
  readonly status?: number;
  readonly strict?: true;
};

const metaPolicy = (policy: string) => ({ meta: `<meta http-equiv="Content-Security-Policy" content="${policy}">` });
const policies = (...all: readonly string[]): readonly Case[] => all.map((policy) => ({ policy }));

const CASES: readonly Case[] = [
  {},
  ...policies("default-src 'self'", "default-src 'none'", 'default-src *', 'default-src http:', 'default-src https:', "script-src 'none'"),
  ...policies("script-src 'nonce-abc'", "script-src 'nonce-abc' 'strict-dynamic'", "script-src 'strict-dynamic' 'self'", 'script-src'),
  ...policies(
    "default-src 'nonce-abc'",
    "default-src 'nonce-abc'; connect-src 'self'",
    "script-src 'sha256-AAAA='",
    "script-src 'unsafe-inline'",
  ),
  ...policies("script-src-elem 'self'; script-src 'none'", "script-src 'self'; script-src-elem 'none'", "SCRIPT-SRC 'SELF'"),
  ...policies("script-src 'self', script-src 'nonce-abc'", "script-src 'nonce-a', script-src 'nonce-b'", "script-src 'nonce-Abc=='"),
  ...policies("connect-src 'none'", 'connect-src HOST:PORT/.sluice/vitals', 'connect-src HOST:PORT/.sluice/vitals.js', 'connect-src HOST'),
  ...policies(
    'script-src HOST:PORT',
    'script-src HOST:*',
    'script-src http://*:*',
    'script-src *:PORT',
    'script-src *.test:PORT',
    'script-src *test:*',
  ),
  ...policies(
    'script-src http://HOST:PORT/.sluice/',
    'script-src HOST:PORT/.sluice',
    'script-src HOST:PORT/.SLUICE/',
    'script-src x.HOST:*',
  ),
  ...policies('sandbox', 'sandbox allow-scripts', 'sandbox allow-scripts allow-same-origin', 'sandbox ALLOW-scripts allow-same-origin'),
  ...policies(
    "require-trusted-types-for 'script'",
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "worker-src 'none'; img-src 'none'",
  ),
  ...policies(
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
    "script-src 'self' 'none'",
    ";;default-src\t'self';",
  ),
  { headers: { 'content-security-policy-report-only': "default-src 'none'" } },
  { headers: { 'content-security-policy-report-only': "sandbox; script-src 'nonce-abc'" } },
  { headers: { 'integrity-policy': 'blocked-destinations=(script)' } },
  { headers: { 'integrity-policy': 'sources=(inline)' } },
  ...['no-referrer', 'same-origin', 'unsafe-url', 'strict-origin'].map((policy) => ({ headers: { 'referrer-policy': policy } })),
  { headers: { 'cross-origin-embedder-policy': 'require-corp', 'cross-origin-opener-policy': 'same-origin' } },
  { headers: { 'x-content-type-options': 'nosniff', 'permissions-policy': 'unload=(), sync-xhr=()' } },
  { meta: '<meta name="referrer" content="no-referrer">' },
  metaPolicy("default-src 'self'"),
  metaPolicy("script-src 'none'"),
  metaPolicy("script-src 'nonce-abc'"),
  metaPolicy("sandbox; script-src 'self'"),
  metaPolicy("connect-src 'none'"),
  { ...metaPolicy("img-src 'self', script-src 'none'"), strict: true },
  { ...metaPolicy('script-src &#39;self&#39;'), strict: true },
  metaPolicy('script-src &#39;none&#39;'),
  { meta: '<meta http-equiv="Content-Security&#45;Policy" content="script-src \'none\'">' },
  { meta: '<!-- <meta http-equiv="Content-Security-Policy" content="script-src \'none\'"> -->' },
  { meta: '<template><meta http-equiv="Content-Security-Policy" content="script-src \'none\'"></template>' },
  { meta: '<base href="http://cdn.test/x/">' },
  { meta: '<base href="/x/">', policy: "default-src 'self'" },
  { status: 404 },
  { status: 500, policy: "default-src 'self'" },
  { page: '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>a</title>SCRIPT</head><body>text</body></html>' },
  {
    page: '<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" ""><html><head>SCRIPT</head><frameset><frame></frameset></html>',
  },
  { page: '<html><div>SCRIPT</head><frameset cols="*"><frame></frameset></html>' },
  { page: 'SCRIPT<body>no head' },
  { page: '<table><tr><td>text SCRIPT</head></table>' },
  { page: '<p>text SCRIPT<BODY/>' },
];

const withoutScript = (made: Case): string =>
  (made.page ?? `<!doctype html><head><title>a</title>${made.meta ?? ''}SCRIPT</head><body><p>text`).replace('SCRIPT', '');
const withScript = (made: Case, origin: string, nonce: string): string =>
  (made.page ?? `<!doctype html><head><title>a</title>${made.meta ?? ''}SCRIPT</head><body><p>text`).replace(
    'SCRIPT',
    `<script defer src="${origin}${SCRIPT_PATH}"${nonce && ` nonce="${nonce}"`}></script>`,
  );

/** Serves the pages of the table by number: unchanged and, for the browser's own verdict, with the script and each nonce. */
class Site {
  readonly port: number;
  /** Reports that were posted to this server itself. */
  reports = 0;
  private readonly server;

  private constructor(server: ReturnType<typeof createServer>) {
    this.server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on('request', (request, response) => this.answer(request, response));
  }

  static async start(): Promise<Site> {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return new Site(server);
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://a.test');
    if (pathname === SCRIPT_PATH) return void response.writeHead(200, { 'content-type': 'text/javascript' }).end(vitalsScript().plain);
    if (pathname === REPORT_PATH) {
      // The proxy rejects a report without the page's origin.
      const own = request.headers.origin === `http://${request.headers.host}`;
      if (own) this.reports++;
      return void response.writeHead(own ? 204 : 403).end();
    }
    const made = CASES[Number(pathname.slice(1))];
    if (made === undefined) return void response.writeHead(404).end();
    const host = request.headers.host ?? '';
    const [name = '', port = '443'] = host.split(':');
    const nonce = searchParams.get('nonce');
    const page = nonce === null ? withoutScript(made) : withScript(made, `http://${host}`, nonce);
    const policy = made.policy?.replaceAll('HOST', name).replaceAll('PORT', port);
    response
      .writeHead(made.status ?? 200, {
        'content-type': 'text/html; charset=utf-8',
        ...made.headers,
        ...(policy !== undefined && { 'content-security-policy': policy }),
      })
      .end(page);
  }

  [Symbol.dispose](): void {
    this.server.close().closeAllConnections();
  }
}

/** Notes whether the script has run: it listens for the end of the page. */
const NOTE = `
const listen = addEventListener;
addEventListener = (kind, ...rest) => {
  if (kind === 'pagehide') window.measuring = true;
  listen(kind, ...rest);
};`;
/** A page reports at the latest when it is hidden, and then at once. It has nothing to report if it shows nothing. */
const LEAVE = `new Promise((done) => {
  let sent;
  const send = navigator.sendBeacon.bind(navigator);
  navigator.sendBeacon = (...what) => (sent = send(...what));
  const leave = () => {
    Object.defineProperty(document, 'visibilityState', { value: 'hidden' });
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
    dispatchEvent(new Event('pagehide'));
    done([window.measuring === true, sent]);
  };
  if (window.measuring !== true || document.body.localName === 'frameset') leave();
  else new PerformanceObserver(() => setTimeout(leave)).observe({ type: 'paint', buffered: true });
})`;

/** @returns whether the page was measured and has reported, and what was refused. */
async function visit(page: Page, url: string, reports: () => number): Promise<{ readonly measured: boolean; readonly problems: string[] }> {
  const problems: string[] = [];
  const listen = (message: ConsoleMessage) => {
    if (/violates|Blocked/i.test(message.text()) && !message.text().includes('favicon')) problems.push(message.text());
  };
  const watch = (answer: Response) => {
    if (answer.url().endsWith(REPORT_PATH) && answer.status() !== 204) problems.push(`the report is answered ${answer.status()}`);
  };
  page.on('console', listen).on('response', watch);
  const before = reports();
  await page.goto(url, { waitUntil: 'load' });
  const [measuring, sent] = await page.evaluate<[boolean, boolean | undefined]>(LEAVE);
  if (sent === true) await until(`the report of ${url}`, async () => (reports() > before || problems.length > 0 ? true : null));
  page.off('console', listen).off('response', watch);
  return { measured: measuring && (sent === undefined || reports() > before) && problems.length === 0, problems };
}

const described = ({ policy, headers, meta, page, status }: Case): string => JSON.stringify({ policy, headers, meta, page, status });
const nonces = (made: Case): readonly string[] => ['', ...(/'nonce-([^']*)'/.exec(JSON.stringify(made))?.slice(1) ?? [])];

describe('with one browser', { skip: missingBrowser() }, () => {
  const cleaning = new AsyncDisposableStack();
  let app: Site;
  let secure: SecureFixture;
  let browser: Browser;
  before(async () => {
    app = cleaning.use(await Site.start());
    secure = cleaning.use(await SecureFixture.of([{ ...site('a.test', { address: `127.0.0.1:${app.port}` }), analytics: {} }]));
    browser = cleaning.use(await Browser.start(cleaning.use(new Folder()), [secure.ca]));
  });
  after(() => cleaning.disposeAsync());

  test('a page gets the script exactly where a browser runs it and lets it report without a violation', async () => {
    using proxy = await ProxyFixture.start([{ ...site('a.test', { address: `127.0.0.1:${app.port}` }), analytics: {} }]);
    const page = await browser.newVisitor();
    await page.addInitScript(NOTE);
    const reports = (): number => {
      proxy.collect(0);
      return proxy.messages.flatMap((message) => (message.kind === 'report' ? message.report.domains.flatMap(({ vitals }) => vitals) : []))
        .length;
    };
    const differences: string[] = [];
    for (const [number, made] of CASES.entries()) {
      let allowed = false;
      for (const nonce of nonces(made))
        allowed ||= (await visit(page, `http://a.test:${app.port}/${number}?nonce=${nonce}`, () => app.reports)).measured;
      proxy.clock.pass(1_000);
      const { measured, problems } = await visit(page, `http://a.test:${proxy.port}/${number}`, reports);
      if (problems.length > 0 || measured !== (allowed && made.strict !== true))
        differences.push(`${described(made)}: ${allowed ? 'allowed' : 'forbidden'}, ${measured ? '' : 'not '}measured ${problems}`);
    }
    assert.deepEqual(differences, []);
  });

  test('a browser measures pages over TLS and HTTP/2, also with a <base>', async () => {
    const page = await browser.newVisitor();
    await page.addInitScript(NOTE);
    const reports = (): number => {
      secure.proxy.collect(0);
      return secure.proxy.messages.flatMap((message) =>
        message.kind === 'report' ? message.report.domains.flatMap(({ vitals }) => vitals) : [],
      ).length;
    };
    for (const [number, made] of CASES.entries()) {
      if (!/^\{\}$|default-src 'self'"|http:\/\/cdn|'nonce-abc' 'strict|no-referrer"\}/.test(described(made))) continue;
      secure.proxy.clock.pass(1_000);
      assert.deepEqual(
        await visit(page, `https://a.test:${secure.proxy.securePort}/${number}`, reports),
        { measured: true, problems: [] },
        described(made),
      );
    }
  });
});
