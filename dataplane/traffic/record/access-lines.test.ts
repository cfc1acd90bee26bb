import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashSync } from 'bcrypt';
import { LineRing } from '../../ledger/line-ring.ts';
import { Http2Client } from '../testing/http2/upstream.ts';
import { eventually, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, refusingAddress, UpstreamFixture } from '../testing/test-upstream.ts';

// biome-ignore format: a line as tests read it
type Line = { level: string; user_id: string; status: number; size: number; bytes_read: number; duration: number; upstream?: string; request_id: string;
  request: { method: string; uri: string; host: string; proto: string; client_ip: string; remote_ip: string; headers: Record<string, string[]>; tls?: object };
  resp_headers: Record<string, string[]> };
type Logged = { readonly output: string; readonly line: Line };

/** All lines that the worker has written. */
function reader(proxy: ProxyFixture): () => Logged[] {
  const ring = new LineRing(proxy.ledger.buffers.accessLines, proxy.slot);
  const outputs = new Map<number, string>();
  const lines: Logged[] = [];
  return () => {
    ring.read((number, bytes, from, to) => {
      const text = bytes.toString('latin1', from, to);
      if (number < 0) outputs.set(~number, text);
      else lines.push({ output: outputs.get(number) ?? assert.fail('an output that was not announced'), line: JSON.parse(text) });
    });
    return lines;
  };
}

const fixed = (domain: string, log?: string) => ({
  domain,
  upstream: null,
  tls: false,
  respond: { status: 200, body: 'hello' },
  ...(log && { log }),
});
const to = (domain: string, path = '/', fields = '') => get(path, fields).replace('a.test', domain);

test('a request is logged where its site says, otherwise where all requests are', async () => {
  using proxy = await ProxyFixture.with(
    [fixed('a.test'), fixed('on.test', 'on'), fixed('off.test', 'off'), fixed('out.test', 'stdout'), fixed('own.test', '/x/own.log')],
    { accessLog: '/x/all.log' },
  );
  const lines = reader(proxy);
  for (const host of ['a.test', 'on.test', 'off.test', 'out.test', 'own.test', 'none.test']) await proxy.request(to(host));
  assert.deepEqual(
    lines().map(({ output, line }) => [output, line.request.host, line.status]),
    [
      ['f/x/all.log', 'a.test', 200],
      ['f/x/all.log', 'on.test', 200],
      ['-', 'out.test', 200],
      ['n/x/own.log', 'own.test', 200],
      ['f/x/all.log', 'none.test', 404],
    ],
  );
  assert.equal(proxy.messages.filter(({ kind }) => kind === 'access-log').length, 1);
});

test('without an access log only sites that want one are logged, on standard output', async () => {
  using proxy = await ProxyFixture.start([fixed('a.test'), fixed('on.test', 'on')]);
  const lines = reader(proxy);
  await proxy.request(to('a.test'));
  await proxy.request(to('none.test'));
  await proxy.request('nonsense\r\n\r\n');
  assert.equal(proxy.messages.filter(({ kind }) => kind === 'access-log').length, 0);
  await proxy.request(to('on.test'));
  assert.deepEqual(
    lines().map(({ output, line }) => [output, line.request.host]),
    [['-', 'on.test']],
  );
});

test('a line has the request, the response and the target, without secrets', async () => {
  using upstream = await UpstreamFixture.serving(ok('hello', 'Set-Cookie: s=secret\r\nX-Answer: 1\r\n'));
  using proxy = await ProxyFixture.with([site('a.test', upstream)], { accessLog: 'stdout' });
  const lines = reader(proxy);
  const body = 'Content-Length: 5\r\nCookie: a=secret\r\nX-Real-IP: 1.2.3.4\r\nUser-Agent: test\r\n';
  await proxy.request(`POST /p?token=secret&a=1 HTTP/1.1\r\nHost: a.test\r\n${body}\r\nhello`);
  const [{ line } = assert.fail()] = lines();
  const { request, resp_headers, request_id, ...rest } = line;
  assert.deepEqual(request.headers, { Cookie: ['REDACTED'], 'User-Agent': ['test'] });
  assert.deepEqual([request.method, request.uri, request.proto], ['POST', '/p?token=REDACTED&a=1', 'HTTP/1.1']);
  assert.deepEqual([request.remote_ip, request.client_ip, request.tls], ['127.0.0.1', '127.0.0.1', undefined]);
  assert.deepEqual([resp_headers['Set-Cookie'], resp_headers['X-Answer']], [['REDACTED'], ['1']]);
  assert.deepEqual([rest.status, rest.size, rest.bytes_read, rest.level, rest.upstream], [200, 5, 5, 'info', upstream.address]);
  assert.match(upstream.requests[0]?.head ?? '', new RegExp(`X-Request-ID: ${request_id}\r\n`, 'i'));
});

test('a secret in an encoded URL is left out, also if it is the whole query', async () => {
  using proxy = await ProxyFixture.with([fixed('a.test')], { accessLog: 'stdout' });
  const lines = reader(proxy);
  await proxy.request(to('a.test', '/redirect?https%3A%2F%2Fa.test%2F%3Ftoken%3Dx'));
  assert.deepEqual(
    lines().map(({ line }) => line.request.uri),
    ['/redirect?https%3A%2F%2Fa.test%2F%3Ftoken%3DREDACTED'],
  );
});

test('the user of a line is the one whose password was right, checked or remembered, with any letters in the name', async () => {
  const basic_auth = { users: [{ name: 'zoë "z"', hash: hashSync('right', 4) }] };
  using proxy = await ProxyFixture.with([{ ...fixed('a.test'), basic_auth }, fixed('b.test')], { accessLog: 'stdout' });
  const lines = reader(proxy);
  const as = (password: string) => `Authorization: Basic ${Buffer.from(`zoë "z":${password}`).toString('base64')}\r\n`;
  for (const fields of [as('right'), as('right'), as('wrong'), '']) await proxy.request(to('a.test', '/', fields));
  await proxy.request(to('b.test', '/', as('right')));
  assert.deepEqual(
    lines().map(({ line }) => [line.user_id, line.status]),
    [
      ['zoë "z"', 200],
      ['zoë "z"', 200],
      ['', 401],
      ['', 401],
      ['', 200],
    ],
  );
});

test('behind a trusted proxy the client is the one named by the proxy', async () => {
  using proxy = await ProxyFixture.with([fixed('a.test')], { accessLog: 'stdout', trustedProxies: ['127.0.0.0/8'] as never });
  const lines = reader(proxy);
  await proxy.request(to('a.test', '/', 'X-Forwarded-For: 192.0.2.7\r\n'));
  const [{ line } = assert.fail()] = lines();
  assert.deepEqual([line.request.remote_ip, line.request.client_ip], ['127.0.0.1', '192.0.2.7']);
});

test('a client that leaves is logged as 499, an error of the proxy at level error', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.with([site('a.test', upstream), site('down.test', { address: await refusingAddress() })], {
    accessLog: 'stdout',
  });
  const lines = reader(proxy);
  const client = await proxy.connect();
  client.send(get());
  await upstream.accept();
  client.socket.resetAndDestroy();
  await eventually('the line', () => lines().length === 1);
  await proxy.request(to('down.test'));
  assert.deepEqual(
    lines().map(({ line }) => [line.status, line.level]),
    [
      [499, 'info'],
      [502, 'error'],
    ],
  );
});

test('a request over HTTP/2 is logged like one over HTTP/1.1', async () => {
  using proxy = await ProxyFixture.with([fixed('a.test')], { accessLog: 'stdout' });
  const lines = reader(proxy);
  using client = new Http2Client(proxy);
  await client.request({ ':path': '/two', 'user-agent': 'two', cookie: ['a=secret', 'b=secret'] });
  await eventually('the line', () => lines().length === 1);
  const [{ line } = assert.fail()] = lines();
  assert.deepEqual([line.request.proto, line.request.uri, line.size, line.status], ['HTTP/2.0', '/two', 5, 200]);
  assert.deepEqual([line.request.headers['User-Agent'], line.request.headers.Cookie], [['two'], ['REDACTED']]);
});

test('an upgraded connection is logged once, when it ends, with the bytes that it carried', async () => {
  using upstream = await UpstreamFixture.serving((_, wire) => {
    wire.send('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello');
    return null;
  });
  using proxy = await ProxyFixture.with([site('a.test', upstream)], { accessLog: 'stdout' });
  const lines = reader(proxy);
  const client = await proxy.connect();
  client.send(get('/', 'Connection: Upgrade\r\nUpgrade: echo\r\n'));
  await client.readThrough('hello');
  assert.equal(lines().length, 0);
  client.socket.destroy();
  await eventually('the line', () => lines().length === 1);
  assert.equal(lines()[0]?.line.status, 101);
});

test('a head that is refused has a line with its status', async () => {
  using proxy = await ProxyFixture.with([fixed('a.test')], { accessLog: 'stdout' });
  const lines = reader(proxy);
  await proxy.request(get(`/${'x'.repeat(100_000)}`));
  await proxy.request('GET / HTTP/1.1\r\nHost: a.test\r\nX: a\rb\r\n\r\n');
  assert.deepEqual(
    lines().map(({ line }) => [line.status, line.request.uri]),
    [
      [414, ''],
      [400, ''],
    ],
  );
});

test('outputs are announced again to a reader that has restarted', async () => {
  using proxy = await ProxyFixture.with([fixed('a.test')], { accessLog: '/x/all.log' });
  await proxy.request(to('a.test'));
  reader(proxy)();
  const { LineRings } = await import('../../ledger/line-ring.ts');
  new LineRings(proxy.ledger.buffers.accessLines).begin();
  await proxy.request(to('a.test'));
  assert.deepEqual(
    reader(proxy)().map(({ output }) => output),
    ['f/x/all.log'],
  );
});
