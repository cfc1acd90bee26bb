import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { missing } from '../components.ts';
import { Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';
import { freePort } from '../testing/ports.ts';
import { Program } from '../testing/process.ts';
import { Upstream } from '../testing/upstream.ts';

const TEXT = 'A line of text that is repeated.\n'.repeat(100);

type Sent = { readonly path?: string; readonly method?: string; readonly headers?: Readonly<Record<string, string>> };
type Facts = Readonly<Record<'status' | 'coding' | 'vary' | 'etag' | 'length' | 'ranges', string | null>>;

/** The fields of a response that concern its encoding. */
function facts(port: number, { path = '/', method = 'GET', headers = {} }: Sent): Promise<Facts> {
  return new Promise((resolve, reject) => {
    const call = request({ host: '127.0.0.1', port, path, method, headers: { host: 'a.test', ...headers }, agent: false });
    call.on('error', reject).on('response', (response) => {
      const field = (name: string): string | null => (response.headers[name] as string | undefined) ?? null;
      response.resume().on('end', () =>
        resolve({
          status: `${response.statusCode}`,
          coding: field('content-encoding'),
          vary: field('vary'),
          etag: field('etag'),
          length: field('content-length'),
          ranges: field('accept-ranges'),
        }),
      );
    });
    call.end();
  });
}

const gzip = { 'accept-encoding': 'gzip' };
const accept = (value: string): Sent => ({ headers: { 'accept-encoding': value } });

/** Requests that both answer alike. */
const ALIKE: Readonly<Record<string, Sent>> = {
  gzip: accept('gzip'),
  'gzip among others': accept('deflate, gzip;q=0.8, x'),
  'gzip refused': accept('gzip;q=0'),
  'everything refused': accept('*;q=0'),
  'identity refused, and nothing else accepted': accept('identity;q=0'),
  'a malformed quality': accept('gzip;q=2'),
  'no Accept-Encoding': {},
  HEAD: { method: 'HEAD', headers: gzip },
  POST: { method: 'POST', headers: gzip },
  'a small body': { path: '/?small', headers: gzip },
  'a small body of unknown length': { path: '/?small&chunked', headers: gzip },
  'a body that is encoded already': { path: '/?content-encoding=br', headers: gzip },
  'a range': { headers: { ...gzip, range: 'bytes=0-9' } },
  'a 404': { path: '/?status=404', headers: gzip },
  'a revalidation of the unencoded response': { headers: { 'if-none-match': '"1"' } },
};

/** Requests that Sluice answers differently, with its fields and the reason. */
const OTHERWISE: Readonly<Record<string, readonly [Sent, Partial<Facts>]>> = {
  'accepts `*` (RFC 9110 12.5.3)': [accept('*'), { coding: 'gzip' }],
  'respects that the client prefers an unencoded response (12.5.3)': [accept('identity, gzip;q=0.5'), { coding: null, length: '3300' }],
  'never transforms what must not be (RFC 9111 5.2.2.6)': [
    { path: '/?cache-control=no-transform', headers: gzip },
    { coding: null, vary: null },
  ],
  'never delays events': [
    { path: '/?content-type=text/event-stream', headers: gzip },
    { coding: null, vary: null },
  ],
  'leaves alone what sets cookies (BREACH)': [{ path: '/?set-cookie=a', headers: gzip }, { coding: null }],
  'encodes errors of every status': [
    { path: '/?status=500', headers: gzip },
    { coding: 'gzip', etag: 'W/"1"' },
  ],
  'repeats the weak tag in a 304': [
    { headers: { ...gzip, 'if-none-match': 'W/"1"' } },
    { status: '304', etag: 'W/"1"', vary: 'Accept-Encoding' },
  ],
};

test('encode says the same about a response as gzip of nginx, apart from seven cases', { skip: missing('nginx') }, async () => {
  using folder = new Folder();
  await using upstream = await Upstream.start('site', (asked, response) => {
    const query = new URL(asked.url ?? '/', 'http://a.test').searchParams;
    response.setHeader('content-type', 'text/plain');
    response.setHeader('etag', '"1"');
    response.setHeader('accept-ranges', 'bytes');
    for (const [name, value] of query) if (name.includes('-')) response.setHeader(name, value);
    if (asked.headers['if-none-match']?.includes('"1"')) {
      response.removeHeader('content-type');
      return response.writeHead(304).end();
    }
    const part = asked.headers.range !== undefined;
    const body = part ? TEXT.slice(0, 10) : query.has('small') ? TEXT.slice(0, 100) : TEXT;
    if (part) response.setHeader('content-range', `bytes 0-9/${TEXT.length}`);
    if (!query.has('chunked')) response.setHeader('content-length', body.length);
    response.writeHead(part ? 206 : Number(query.get('status') ?? 200));
    return response.end(asked.method === 'HEAD' ? undefined : body);
  });
  const port = await freePort();
  const config = folder.file('nginx.conf');
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder.file(kind)};`).join(' ');
  writeFileSync(
    config,
    `daemon off;
pid ${folder.file('nginx.pid')};
error_log stderr;
events {}
http {
  ${paths}
  access_log off;
  gzip on; gzip_vary on; gzip_proxied any; gzip_min_length 512; gzip_types text/plain text/event-stream;
  server { listen 127.0.0.1:${port}; location / { proxy_pass http://${upstream.address}; proxy_http_version 1.1; } }
}
`,
  );
  await using nginx = new Program('/usr/sbin/nginx', ['-c', config]);
  await until('nginx', () => (nginx.exit === null ? facts(port, {}) : Promise.reject(new Error(nginx.output))));
  await using pair = await Pair.start(folder, `a.test {\n  encode gzip\n  reverse_proxy ${upstream.address}\n}\n`);
  const ours = (sent: Sent) => facts(pair.httpPort, sent);

  for (const [name, sent] of Object.entries(ALIKE)) assert.deepEqual(await ours(sent), await facts(port, sent), name);
  for (const [name, [sent, expected]] of Object.entries(OTHERWISE)) {
    const [mine, theirs] = [await ours(sent), await facts(port, sent)];
    assert.deepEqual({ ...mine, ...expected }, mine, name);
    assert.notDeepEqual(theirs, mine, `${name}: nginx does it, too`);
  }
});
