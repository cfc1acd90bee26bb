import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { get, type IncomingHttpHeaders } from 'node:http';
import { describe, it } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { RunningAdmin } from '../testing/running-admin.ts';

/** What fits into the first round trips of a phone (bytes). */
const MAX_COMPRESSED = 150_000;

type Fetched = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: Buffer };

const fetched = (port: number, path: string, headers: Record<string, string> = {}): Promise<Fetched> =>
  new Promise((resolve, reject) => {
    get({ port, path, headers, host: '127.0.0.1' }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(pieces) }));
    }).on('error', reject);
  });

describe('the dashboard', () => {
  it('is one file that needs no token and is never counted', async () => {
    await using api = await RunningAdmin.start();
    const { status, headers, body } = await fetched(api.port, '/dashboard/');
    assert.equal(status, 200);
    assert.equal(headers['content-type'], 'text/html; charset=utf-8');
    assert.doesNotMatch(body.toString(), /(?:src|href)="(?!#|data:)/);
    for (let times = 0; times < 700; times++) assert.equal((await fetched(api.port, '/dashboard')).status, 308);
    assert.equal((await fetched(api.port, '/dashboard')).headers.location, 'dashboard/');
    assert.equal((await api.request('GET', '/status')).status, 200);
    assert.equal((await fetched(api.port, '/dashboard/x')).status, 401);
  });

  it('runs only its own script and style', async () => {
    await using api = await RunningAdmin.start();
    const { headers, body } = await fetched(api.port, '/dashboard/');
    const policy = `${headers['content-security-policy']}`;
    for (const element of ['script', 'style']) {
      const found = [...body.toString().matchAll(new RegExp(`<${element}[^>]*>([\\s\\S]*?)</${element}>`, 'g'))];
      assert.equal(found.length, 1);
      const hash = createHash('sha256')
        .update(found[0]?.[1] ?? '')
        .digest('base64');
      assert.ok(policy.includes(`${element}-src 'sha256-${hash}'`), policy);
    }
    assert.match(policy, /^default-src 'none'; /);
    assert.doesNotMatch(policy, /unsafe|\*|https?:/);
  });

  it('is compressed as the client likes it, and small', async () => {
    await using api = await RunningAdmin.start();
    const plain = await fetched(api.port, '/dashboard/', { 'accept-encoding': 'br;q=0, gzip; q=0.0, identity' });
    assert.equal(plain.headers['content-encoding'], undefined);
    for (const [accepted, coding, open] of [
      ['gzip, deflate, br', 'br', brotliDecompressSync],
      ['gzip', 'gzip', gunzipSync],
    ] as const) {
      const { headers, body } = await fetched(api.port, '/dashboard/', { 'accept-encoding': accepted });
      assert.equal(headers['content-encoding'], coding);
      assert.ok(body.length < MAX_COMPRESSED, `${body.length} bytes`);
      assert.deepEqual(open(body), plain.body);
      const again = await fetched(api.port, '/dashboard/', { 'accept-encoding': accepted, 'if-none-match': `${headers.etag}` });
      assert.deepEqual([again.status, again.body.length], [304, 0]);
      assert.notEqual(headers.etag, plain.headers.etag);
    }
  });
});
