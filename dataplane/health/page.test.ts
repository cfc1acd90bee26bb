import assert from 'node:assert/strict';
import { lookup } from 'node:dns';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createPlainServer } from 'node:http';
import { createServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { requestPage } from './page.ts';

const PAGE = { path: '/up', host: 'a.test', status: null };
let server: Http2Server;
const asked: (string | string[] | undefined)[][] = [];

before(async () => {
  server = createServer();
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders & Record<string, string | undefined>) => {
    asked.push([headers[':method'], headers[':scheme'], headers[':authority'], headers[':path']]);
    stream.respond({ ':status': headers[':authority'] === 'ill.test' ? 503 : 204 }, { endStream: true });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
after(() => server.close());

function failureOf(address: string, page: Parameters<typeof requestPage>[1] = PAGE): Promise<string | null> {
  const question = { address, serverName: null, transport: { protocol: 'h2c' as const }, timeoutMs: 5_000 };
  return new Promise((resolve) => requestPage(question, page, { clock: new ManualClock(), lookup }, resolve));
}

test('a target that speaks HTTP/2 is checked over HTTP/2', async () => {
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  assert.equal(await failureOf(address), null);
  assert.deepEqual(asked.at(-1), ['GET', 'http', 'a.test', '/up']);
  assert.equal(await failureOf(address, { ...PAGE, host: 'ill.test' }), 'GET /up answered 503');
});

test('a page is healthy with the expected status or class', async () => {
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const [status, reason] of [
    ['204', null],
    ['2xx', null],
    ['200', 'GET /up answered 204, not 200'],
    ['3xx', 'GET /up answered 204, not 3xx'],
  ] as const)
    assert.equal(await failureOf(address, { ...PAGE, status }), reason);
});

test('a target whose name is not valid in a URL can still be checked', async () => {
  assert.equal(await failureOf('web.1:80'), 'GET /up failed: its name cannot be resolved');
});

test('a target at a Unix socket is checked there, and a missing socket is reported', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'page-'));
  const path = join(folder, 'app.sock');
  const app = createPlainServer(
    ({ url, headers }, response) => void response.writeHead(url === '/up' && headers.host === 'a.test' ? 204 : 500).end(),
  );
  await new Promise<void>((resolve) => app.listen(path, resolve));
  const plain = { serverName: null, transport: null, timeoutMs: 5_000 };
  const asking = (at: string) =>
    new Promise((resolve) => requestPage({ ...plain, address: `unix/${at}` }, PAGE, { clock: new ManualClock(), lookup }, resolve));
  assert.equal(await asking(path), null);
  assert.equal(await asking(`${path}.not`), 'GET /up failed: its socket does not exist');
  app.close();
  rmSync(folder, { recursive: true });
});

test('a refused connection is reported as refused', async () => {
  assert.equal(await failureOf('127.0.0.1:1'), 'GET /up failed: connection refused');
});
