import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { AdminAddress } from '../../../shared/api/admin-address.ts';
import { temporary } from '../testing/run-command.ts';
import { type DashboardForwarder, startForwarder } from './forwarder.ts';

type Seen = { readonly method: string; readonly url: string; readonly headers: IncomingHttpHeaders };
type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string };
type Scene = {
  readonly forwarder: DashboardForwarder;
  readonly upstream: Server;
  /** What reached the Admin API. */
  readonly seen: Seen[];
  /** The address of the forwarder without its query. */
  readonly base: URL;
  readonly key: string;
};

/** A forwarder in front of an Admin API that answers with `answer`. */
async function scene(
  t: TestContext,
  options: { answer?: (request: IncomingMessage, response: ServerResponse) => void; tcp?: boolean; token?: string } = {},
): Promise<Scene> {
  const seen: Seen[] = [];
  const answer = options.answer ?? ((_request, response) => response.setHeader('content-type', 'application/json').end('{"fine":true}'));
  const upstream = createServer((request, response) => {
    seen.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers });
    answer(request, response);
  });
  const path = join(temporary(t), 'admin.sock');
  await once(options.tcp ? upstream.listen(0, '127.0.0.1') : upstream.listen(path), 'listening');
  const admin: AdminAddress = options.tcp
    ? { kind: 'tcp', host: '127.0.0.1', port: (upstream.address() as AddressInfo).port }
    : { kind: 'unix', path };
  const forwarder = await startForwarder({ admin, token: options.token, listen: { host: '127.0.0.1', port: 0 } });
  t.after(async () => {
    await forwarder.close();
    upstream.closeAllConnections();
    upstream.close();
  });
  const url = new URL(forwarder.url);
  return { forwarder, upstream, seen, base: new URL('.', url), key: url.search };
}

const BROWSER = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' };

/** Sends a path as it is written, since `fetch` and `URL` would tidy it. */
function send({ base }: Scene, path: string, headers: Record<string, string | string[]> = {}, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const target = path.startsWith('http') || path.startsWith('//') ? path : `${base.pathname.slice(0, -1)}${path}`;
    const sent = request({ host: base.hostname, port: base.port, path: target, method, headers, agent: false }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(pieces).toString() }),
      );
      response.once('error', reject);
    });
    sent.once('error', reject);
    sent.end();
  });
}

/** The cookie that the key is exchanged for. */
async function enter(one: Scene): Promise<string> {
  const { status, headers } = await send(one, `/${one.key}`, { 'sec-fetch-site': 'none' });
  assert.equal(status, 303);
  return (headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '';
}

test('the key is exchanged for a cookie that scripts, other sites and other programs of the machine do not get', async (t) => {
  const one = await scene(t);
  const { status, headers } = await send(one, `/${one.key}`, { 'sec-fetch-site': 'none' });
  assert.deepEqual([status, headers.location], [303, `${one.base.pathname}dashboard/`]);
  const [value = '', ...attributes] = headers['set-cookie']?.[0]?.split('; ') ?? [];
  assert.match(value, /^sluice-dashboard=[\w-]{43}$/);
  assert.deepEqual(attributes, [`Path=${one.base.pathname}`, 'HttpOnly', 'SameSite=Strict']);
  assert.ok(!value.includes(one.key.slice('?key='.length)));
  assert.match(one.base.pathname, /^\/[\w-]{12}\/$/);
  assert.equal(one.seen.length, 0);
});

test('two forwarders have nothing in common', async (t) => {
  const [one, other] = [await scene(t), await scene(t)];
  assert.notEqual(one.base.pathname, other.base.pathname);
  assert.notEqual(one.key, other.key);
  const cookie = await enter(one);
  await enter(other);
  assert.equal((await send(other, '/routes', { cookie })).status, 403);
});

test('the key works once, and the browser that used it may open the address again', async (t) => {
  const one = await scene(t);
  const cookie = await enter(one);
  const again = await send(one, `/${one.key}`);
  assert.equal(again.status, 403);
  assert.match(again.text, /works once/);
  assert.equal(again.headers['set-cookie'], undefined);
  const { status, headers } = await send(one, `/${one.key}`, { cookie });
  assert.deepEqual([status, headers.location, headers['set-cookie']], [303, `${one.base.pathname}dashboard/`, undefined]);
});

test('a wrong key, a part of it or none is refused and leaves the right one usable', async (t) => {
  const one = await scene(t);
  for (const query of ['', '?', '?key=', one.key.slice(0, -1), `${one.key}x`, `${one.key}&key=`, `?KEY=${one.key.slice(5)}`, '?key[]=1'])
    assert.equal((await send(one, `/${query}`)).status, 403, query);
  await enter(one);
});

test('requests of the page reach the Admin API with the token, and with nothing of the browser', async (t) => {
  const one = await scene(t, { tcp: true, token: 'the-token' });
  const cookie = await enter(one);
  const { status, text, headers } = await send(one, '/routes?view=full', {
    ...BROWSER,
    cookie,
    accept: 'application/json',
    authorization: 'Bearer of-the-page',
    origin: one.base.origin,
    referer: one.base.href,
    'x-forwarded-for': '192.0.2.1',
    'if-none-match': '"a"',
  });
  assert.deepEqual([status, text], [200, '{"fine":true}']);
  assert.equal(headers['cross-origin-resource-policy'], 'same-origin');
  const [{ url, method, headers: sent } = { url: '', method: '', headers: {} }] = one.seen;
  assert.deepEqual([method, url], ['GET', '/routes?view=full']);
  const { host, ...rest } = sent;
  assert.match(host ?? '', /^127\.0\.0\.1:\d+$/);
  assert.deepEqual(rest, { accept: 'application/json', 'if-none-match': '"a"', authorization: 'Bearer the-token', connection: 'close' });
});

test('over a socket no token is sent, and the page is relayed with its own fields', async (t) => {
  const page = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; connect-src 'self'",
    etag: '"page"',
    'set-cookie': 'of-the-admin=1',
  };
  const one = await scene(t, { answer: (_request, response) => response.writeHead(200, page).end('<!doctype html>') });
  const cookie = await enter(one);
  const { status, headers, text } = await send(one, '/dashboard/', { cookie });
  assert.deepEqual([status, text], [200, '<!doctype html>']);
  for (const name of ['content-type', 'content-security-policy', 'etag'] as const) assert.equal(headers[name], page[name]);
  assert.equal(headers['set-cookie'], undefined);
  assert.equal(one.seen[0]?.headers.authorization, undefined);
});

test('without the cookie, and with a wrong one, nothing is forwarded', async (t) => {
  const one = await scene(t);
  const cookie = await enter(one);
  for (const wrong of [{}, { cookie: 'a=b' }, { cookie: cookie.slice(0, -1) }, { cookie: `x${cookie}` }, { cookie: 'sluice-dashboard=' }])
    for (const path of ['/dashboard/', '/routes', '/events']) assert.equal((await send(one, path, wrong)).status, 403);
  assert.equal(one.seen.length, 0);
  assert.equal((await send(one, '/routes', { cookie: `sluice-dashboard=shadow; ${cookie}; other=1` })).status, 200);
});

test('requests that a browser sends for another page are refused, even with the cookie', async (t) => {
  const one = await scene(t);
  const cookie = await enter(one);
  const { port, host, origin } = one.base;
  const hostile: Record<string, string>[] = [
    { host: 'rebound.example' },
    { host: `rebound.example:${port}`, origin: `http://rebound.example:${port}`, 'sec-fetch-site': 'same-origin' },
    { host: `app.localhost:${port}` },
    { host: `127.0.0.1.evil.example:${port}` },
    { host: `192.0.2.7:${port}` },
    { host: ' ' },
    { host, origin: 'https://evil.example' },
    { host, origin: 'null' },
    { host, origin: `http://127.0.0.1:${Number(port) - 1}` },
    { host, origin: `http://localhost:${port}` },
    { host, 'sec-fetch-site': 'cross-site' },
    { host, 'sec-fetch-site': 'same-site' },
  ];
  for (const headers of hostile)
    for (const path of ['/routes', '/dashboard/', `/${one.key}`])
      assert.equal((await send(one, path, { ...headers, cookie })).status, 403, JSON.stringify(headers));
  assert.equal(one.seen.length, 0);
  for (const own of [
    { host },
    { host: `localhost:${port}` },
    { host: 'localhost:9000', origin: 'http://localhost:9000' },
    { host, origin },
  ])
    assert.equal((await send(one, '/routes', { ...own, ...BROWSER, cookie })).status, 200, JSON.stringify(own));
});

test('a foreign page cannot use up the key', async (t) => {
  const one = await scene(t);
  assert.equal((await send(one, `/${one.key}`, { 'sec-fetch-site': 'cross-site' })).status, 403);
  assert.equal((await send(one, `/${one.key}`, {}, 'HEAD')).status, 405);
  await enter(one);
});

test('every method but GET is refused', async (t) => {
  const one = await scene(t);
  const cookie = await enter(one);
  for (const method of ['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PURGE', 'TRACE', 'PROPFIND']) {
    const { status, headers } = await send(one, '/routes', { cookie, 'x-http-method-override': 'GET' }, method);
    assert.deepEqual([status, headers.allow], [405, 'GET'], method);
  }
  assert.equal(one.seen.length, 0);
});

test('paths that the page does not need are refused, however they are written', async (t) => {
  const one = await scene(t);
  const cookie = await enter(one);
  const { pathname, host } = one.base;
  for (const path of [
    '/metrics',
    '/reload',
    '/certificates/root',
    '/routes/a.example',
    '/dashboard/../metrics',
    '/analytics/..%2fmetrics',
    '/analytics/../metrics',
    '//routes',
    `http://${host}/routes`,
    `http://${host}${pathname}metrics`,
    `//${host}${pathname}routes`,
    `${pathname}routes`,
  ])
    assert.equal((await send(one, path, { cookie })).status, 404, path);
  assert.equal((await send(one, `http://evil.example${pathname}routes`, { cookie })).status, 403);
  assert.equal(one.seen.length, 0);
});

test('a request that asks for another protocol gets no tunnel', async (t) => {
  const one = await scene(t);
  const cookie = await enter(one);
  const upgrade = { cookie, connection: 'upgrade', upgrade: 'websocket' };
  assert.equal((await send(one, '/routes', upgrade)).status, 200);
  assert.equal(one.seen[0]?.headers.upgrade, undefined);
  const socket = connect(Number(one.base.port), '127.0.0.1');
  socket.end('CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  socket.resume();
  await once(socket, 'close');
  assert.equal(one.seen.length, 1);
});

test('events arrive one by one, and the stream to the Admin API ends with the reader', async (t) => {
  let stream: ServerResponse | undefined;
  const one = await scene(t, {
    answer: (_request, response) => {
      stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
    },
  });
  const cookie = await enter(one);
  const reader = request({
    host: one.base.hostname,
    port: one.base.port,
    path: `${one.base.pathname}events?view=dashboard`,
    headers: { cookie },
  });
  reader.on('error', () => undefined).end();
  const [response] = (await once(reader, 'response')) as [IncomingMessage];
  assert.equal(response.headers['content-type'], 'text/event-stream');
  for (const text of ['event: overview\ndata: 1\n\n', 'event: overview\ndata: 2\n\n']) {
    stream?.write(text);
    assert.equal(String((await once(response, 'data'))[0]), text);
  }
  const ended = once(stream as ServerResponse, 'close');
  reader.destroy();
  await ended;
});

test('a stream that the Admin API cuts is cut, not ended', async (t) => {
  const one = await scene(t, { answer: (_request, response) => void response.writeHead(200).write('half', () => response.destroy()) });
  const cookie = await enter(one);
  await assert.rejects(send(one, '/events', { cookie }), { code: 'ECONNRESET' });
});

test('closing ends the streams on both sides', async (t) => {
  const one = await scene(t, { answer: (_request, response) => response.writeHead(200).flushHeaders() });
  const cookie = await enter(one);
  const streams = once(one.upstream, 'request') as Promise<[IncomingMessage, ServerResponse]>;
  const cut = assert.rejects(send(one, '/events', { cookie }), { code: 'ECONNRESET' });
  const [, upstream] = await streams;
  const ended = once(upstream, 'close');
  await one.forwarder.close();
  await Promise.all([cut, ended]);
  await assert.rejects(send(one, '/routes', { cookie }), { code: 'ECONNREFUSED' });
  one.forwarder.close = async () => undefined;
});

test('errors of the Admin API are relayed unchanged', async (t) => {
  const one = await scene(t, {
    answer: (_request, response) => response.writeHead(429, { 'retry-after': '7' }).end('{"error":"rate limit exceeded"}'),
  });
  const { status, headers, text } = await send(one, '/status', { cookie: await enter(one) });
  assert.deepEqual([status, headers['retry-after'], text], [429, '7', '{"error":"rate limit exceeded"}']);
});

test('a rejected token is reported as an error, so that the page does not ask for one', async (t) => {
  const one = await scene(t, { tcp: true, token: 'old', answer: (_request, response) => response.writeHead(401).end('{}') });
  const { status, text } = await send(one, '/status', { cookie: await enter(one) });
  assert.equal(status, 502);
  assert.match(JSON.parse(text).error, /^the Admin API at 127\.0\.0\.1:\d+ cannot be used: unauthorized .set SLUICE_ADMIN_TOKEN/);
});

test('an Admin API that is gone is reported with the reason, and used again when it is back', async (t) => {
  const one = await scene(t);
  const cookie = await enter(one);
  const { address } = { address: one.upstream.address() as string };
  one.upstream.close();
  await once(one.upstream, 'close');
  const { status, text } = await send(one, '/status', { cookie });
  assert.equal(status, 502);
  assert.match(JSON.parse(text).error, /^the Admin API at unix:.*cannot be used: no such socket$/);
  await once(one.upstream.listen(address), 'listening');
  assert.equal((await send(one, '/status', { cookie })).status, 200);
});

test('refusals are plain text that a browser neither keeps nor interprets', async (t) => {
  const { headers, text } = await send(await scene(t), '/dashboard/');
  assert.match(text, /^Forbidden: .*Run sluice dashboard again/);
  assert.equal(headers['content-type'], 'text/plain; charset=utf-8');
  assert.equal(headers['cache-control'], 'no-store');
  assert.equal(headers['x-content-type-options'], 'nosniff');
  assert.match(String(headers['content-security-policy']), /^default-src 'none'; frame-ancestors 'none'$/);
});
