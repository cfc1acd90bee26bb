import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';

/** The page as it was built into `dist/`. In the repository it is built from its sources when it is first requested. */
const BUILT = fileURLToPath(new URL('./page.html', import.meta.url));
const BUILDER = new URL('./page/build.ts', import.meta.url).href;

type Body = { readonly coding: 'br' | 'gzip' | null; readonly bytes: Buffer };
type Page = { readonly tag: string; readonly policy: string; readonly bodies: readonly Body[] };

let page: Promise<Page> | null = null;

/** Answers `GET /dashboard/`: one HTML file that contains its script and its style, and no data. @throws if it can't be built. */
export async function serveDashboard(request: IncomingMessage, response: ServerResponse): Promise<void> {
  page ??= load();
  const { tag, policy, bodies } = await page.catch((error: unknown) => {
    page = null;
    throw error;
  });
  const accepted = codingsOf(request.headers['accept-encoding'] ?? '');
  const { coding, bytes } = bodies.find((body) => body.coding === null || accepted.has(body.coding)) as Body;
  const etag = `"${tag}${coding === null ? '' : `-${coding}`}"`;
  const headers = {
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cache-control': 'no-cache',
    vary: 'Accept-Encoding',
    etag,
  };
  if (request.headers['if-none-match'] === etag) return void response.writeHead(304, headers).end();
  const encoding = coding === null ? {} : { 'content-encoding': coding };
  response.writeHead(200, { ...headers, ...encoding, 'content-type': 'text/html; charset=utf-8', 'content-length': bytes.length });
  response.end(bytes);
}

async function load(): Promise<Page> {
  const html = existsSync(BUILT) ? await readFile(BUILT, 'utf8') : await build();
  const plain = Buffer.from(html);
  const [br, gz] = await Promise.all([promisify(brotliCompress)(plain), promisify(gzip)(plain)]);
  return {
    tag: createHash('sha256').update(plain).digest('base64url').slice(0, 22),
    policy: policyOf(html),
    bodies: [
      { coding: 'br', bytes: br },
      { coding: 'gzip', bytes: gz },
      { coding: null, bytes: plain },
    ],
  };
}

async function build(): Promise<string> {
  const { buildPage } = (await import(BUILDER)) as { buildPage(): Promise<string> };
  return buildPage();
}

/** Only the page's own script and style run, and it connects only to the origin that it came from. */
function policyOf(html: string): string {
  const hashOf = (element: string): string => {
    const content = new RegExp(`<${element}[^>]*>([\\s\\S]*?)</${element}>`).exec(html)?.[1];
    if (content === undefined) throw new Error(`the dashboard's page has no ${element}`);
    return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
  };
  return [
    "default-src 'none'",
    `script-src ${hashOf('script')}`,
    `style-src ${hashOf('style')}`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}

/** The codings that a client accepts; a quality of 0 means not (RFC 9110 12.5.3). */
const codingsOf = (field: string): ReadonlySet<string> =>
  new Set(
    field
      .toLowerCase()
      .split(',')
      .map((item) => item.split(';').map((part) => part.trim()))
      .filter(([, ...parameters]) => !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter)))
      .map(([name = '']) => name),
  );
