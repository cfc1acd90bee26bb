import assert from 'node:assert/strict';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { test } from 'node:test';
import { UnusableSocketError } from '../../shared/runtime/http/unix-socket.ts';
import { UnacknowledgedError } from '../publish/publisher.ts';
import { domainReport } from '../traffic/testing/samples/domain-report.ts';
import { agreeing, RunningAdmin, sendRequest, TOKEN } from './testing/running-admin.ts';
import { frame, StreamClient } from './testing/stream-client.ts';

const ROUTE = { domain: 'a.test', upstream: '127.0.0.1:80', tls: false };
const error = (text: string) => ({ error: text });

test('GET /health needs no token on either transport and never counts against the limit', async () => {
  await using api = await RunningAdmin.start();
  for (let times = 0; times < 70; times++) assert.equal((await api.request('GET', '/health', { token: null })).status, 200);
  const health = await api.request('GET', '/health', { socket: true });
  assert.deepEqual(JSON.parse(health.text), { status: 'ok', uptime_secs: 7 });
  assert.match(health.headers['content-type'] ?? '', /^application\/json/);
});

test('a missing or wrong token is answered with 401 and does not count against the limit', async () => {
  await using api = await RunningAdmin.start();
  for (let times = 0; times < 25; times++) {
    for (const token of [null, 'nonsense', `${TOKEN.slice(0, -1)}x`, '']) {
      const reply = await api.request('GET', '/routes', { token });
      assert.equal(reply.status, 401);
      assert.deepEqual(JSON.parse(reply.text), error('unauthorized'));
    }
  }
  assert.equal((await api.request('GET', '/routes')).status, 200);
});

test('without a configured token, every authenticated request over TCP is answered with 401, and a warning is logged at startup', async () => {
  await using api = await RunningAdmin.start({ token: undefined });
  assert.equal((await api.request('GET', '/routes', { token: '' })).status, 401);
  assert.equal((await api.request('GET', '/routes', { token: 'undefined' })).status, 401);
  assert.equal((await api.request('GET', '/routes', { socket: true })).status, 200);
  assert.ok(api.log.lines.some(({ level, message }) => level === 'warn' && message.includes('SLUICE_ADMIN_TOKEN')));
});

test('the 61st request within 60 seconds is answered with 429 on either transport, and the window slides', async () => {
  await using api = await RunningAdmin.start();
  for (let times = 0; times < 30; times++) assert.equal((await api.request('GET', '/routes')).status, 200);
  api.clock.pass(20_000);
  for (let times = 0; times < 30; times++) assert.equal((await api.request('GET', '/routes', { socket: true })).status, 200);
  for (const socket of [true, false]) {
    const reply = await api.request('GET', '/nowhere', { socket });
    assert.equal(reply.status, 429);
    assert.deepEqual(JSON.parse(reply.text), error('rate limit exceeded'));
    assert.equal(reply.headers['retry-after'], '40');
  }
  api.clock.pass(40_000);
  for (let times = 0; times < 30; times++) assert.equal((await api.request('GET', '/routes')).status, 200);
  assert.equal((await api.request('GET', '/routes')).status, 429);
});

test('the view token can use up three quarters of the limit, so that controllers and the owner are always admitted', async () => {
  await using api = await RunningAdmin.start({ viewToken: 'the-view-token' });
  const view = () => api.request('GET', '/routes', { token: 'the-view-token' });
  for (let times = 0; times < 45; times++) assert.equal((await view()).status, 200);
  api.clock.pass(10_000);
  const refused = await view();
  assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '50']);
  for (let times = 0; times < 15; times++) assert.equal((await api.request('GET', '/routes')).status, 200);
  assert.equal((await api.request('GET', '/routes')).status, 429);
  api.clock.pass(50_000);
  assert.equal((await view()).status, 200);
});

test('extension endpoints have a separate limit of 600 requests and do not count against the published limit', async () => {
  await using api = await RunningAdmin.start();
  const statuses = async (count: number, path: string) => {
    const seen: number[] = [];
    for (let left = count; left > 0; left -= 50)
      seen.push(
        ...(await Promise.all(Array.from({ length: Math.min(50, left) }, () => api.request('GET', path)))).map(({ status }) => status),
      );
    return [...new Set(seen)];
  };
  assert.deepEqual(await statuses(300, '/status'), [200]);
  assert.deepEqual(await statuses(290, '/settings'), [200]);
  assert.deepEqual(await statuses(10, '/certificates/nothing/here'), [404]);
  const refused = await api.request('GET', '/upstreams', { socket: true });
  assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '60']);
  assert.equal((await api.request('POST', '/ready')).status, 429);
  assert.deepEqual(await statuses(60, '/routes'), [200]);
  assert.equal((await api.request('GET', '/metrics')).status, 429);
  api.clock.pass(60_000);
  assert.deepEqual([(await api.request('GET', '/status')).status, (await api.request('GET', '/routes')).status], [200, 200]);
});

test('an apply stream counts as one request against the published limit, when it is opened', async () => {
  await using api = await RunningAdmin.start();
  const stream = new StreamClient(api);
  stream.write(frame(1)).write(frame(2));
  await stream.next('applied');
  await stream.next('applied');
  for (let times = 1; times < 60; times++) assert.equal((await api.request('GET', '/routes')).status, 200);
  assert.equal((await api.request('GET', '/routes')).status, 429);
  stream.close();
});

test('520 silent connections neither lock out a client nor cut off a stream', async () => {
  await using api = await RunningAdmin.start();
  const stream = new StreamClient(api);
  stream.write(frame(1));
  await stream.next('applied');
  for (const port of [api.port, api.probePort]) {
    const idle = Array.from({ length: 520 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
    await Promise.all(idle.map((socket) => once(socket, 'connect')));
    assert.equal((await sendRequest({ host: '127.0.0.1', port, method: 'GET', path: '/health' })).status, 200);
    if (port === api.port) assert.equal((await api.request('GET', '/routes')).status, 200);
    for (const socket of idle) socket.destroy();
  }
  stream.write(frame(2));
  await stream.next('applied');
  stream.close();
});

test('connections without the token are closed to make room for one that has it', async () => {
  await using api = await RunningAdmin.start();
  const head = 'POST /routes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n';
  const strangers = Array.from({ length: 520 }, () => connect(api.port, '127.0.0.1').on('error', () => undefined));
  await Promise.all(strangers.map((socket) => once(socket, 'connect').then(() => socket.write(head))));
  assert.equal((await api.request('GET', '/routes')).status, 200);
  for (const socket of strangers) socket.destroy();
});

test('a body that does not arrive within 30 seconds is answered with 408', async () => {
  await using api = await RunningAdmin.start();
  const waiting = connect(api.port, '127.0.0.1');
  const head = `POST /routes HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: 60\r\n\r\n`;
  waiting.write(head);
  await once(waiting, 'data');
  waiting.write('{');
  api.clock.pass(29_999);
  api.clock.pass(1);
  const [answer] = (await once(waiting, 'data')) as [Buffer];
  assert.match(`${answer}`, /^HTTP\/1\.1 408 /);
  waiting.destroy();
});

test('a cross-site browser request is answered with 403 on TCP and on the socket, before the token is checked, and is not counted', async () => {
  await using api = await RunningAdmin.start();
  const foreign = [
    { host: '127.0.0.1:6190', origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'null' },
    { host: 'rebound.example' },
  ];
  for (const socket of [false, true])
    for (const headers of foreign)
      for (const token of [TOKEN, 'wrong']) {
        const reply = await api.post(ROUTE, { headers, socket, token });
        assert.equal(reply.status, 403, JSON.stringify(headers));
        assert.match((JSON.parse(reply.text) as { error: string }).error, /^forbidden: /);
        for (const path of ['/health', '/ready']) assert.equal((await api.request('GET', path, { headers, socket })).status, 200);
      }
  assert.equal(api.table.list().length, 0);
  for (let times = 0; times < 60; times++) assert.equal((await api.request('GET', '/routes')).status, 200);
});

test('accepts any name without a dot on the socket, local addresses, localhost and the host it listens on as Host', async () => {
  await using api = await RunningAdmin.start();
  const status = async (host: string, socket: boolean) => (await api.request('GET', '/routes', { socket, headers: { host } })).status;
  for (const host of ['localhost', '127.0.0.1:6190', '[::1]:9000', '192.0.2.1'])
    for (const socket of [false, true]) assert.equal(await status(host, socket), 200, host);
  for (const host of ['sluice', 'unix', 'Docker:80', '_'])
    assert.deepEqual([await status(host, true), await status(host, false)], [200, 403]);
  for (const host of ['rebound.example', 'app.localhost', 'a%2Eb']) assert.equal(await status(host, true), 403, host);
});

test('a route can be created, replaced regardless of case, listed and deleted, and is returned with its six members', async () => {
  await using api = await RunningAdmin.start();
  const created = await api.post({ ...ROUTE, domain: 'A.Test', source: 'me', nonsense: 1 });
  assert.equal(created.status, 201);
  const route = { domain: 'a.test', upstream: '127.0.0.1:80', tls: false, rate_limit_rps: null, under_attack: false, source: 'me' };
  assert.deepEqual(JSON.parse(created.text), route);
  assert.deepEqual(Object.keys(JSON.parse(created.text)), ['domain', 'upstream', 'tls', 'rate_limit_rps', 'under_attack', 'source']);
  await api.post({ domain: '*.B.test', upstream: '[::1]:1', tls: true }, { socket: true });
  await api.post({ ...ROUTE, upstream: 'name:8080' });
  const list = JSON.parse((await api.request('GET', '/routes')).text) as { domain: string; upstream: string; source: string | null }[];
  assert.deepEqual(
    list.map(({ domain, upstream, source }) => [domain, upstream, source]),
    [
      ['*.b.test', '[::1]:1', null],
      ['a.test', 'name:8080', null],
    ],
  );
  assert.deepEqual(JSON.parse((await api.request('DELETE', '/routes/A%2eTEST')).text), { deleted: 'a.test' });
  const gone = await api.request('DELETE', '/routes/a.test');
  assert.equal(gone.status, 404);
  assert.deepEqual(JSON.parse(gone.text), error('route not found'));
});

test('bad bodies are answered with 400 and a message for each kind of mistake', async () => {
  await using api = await RunningAdmin.start();
  const cases: [string | object, RegExp][] = [
    ['{', /^invalid JSON: /],
    ['', /^invalid JSON: /],
    ['[]', /^invalid JSON: expected an object/],
    [{ upstream: 'a:1', tls: false }, /^invalid JSON: .*domain/],
    [{ domain: 'a.test', tls: false }, /^invalid JSON: .*upstream/],
    [{ domain: 'a.test', upstream: 'a:1' }, /^invalid JSON: .*tls/],
    [{ ...ROUTE, tls: 'no' }, /^invalid JSON: tls/],
    [{ ...ROUTE, domain: 5 }, /^invalid JSON: domain/],
    [{ ...ROUTE, upstream: 5 }, /^invalid JSON: upstream/],
    [{ ...ROUTE, source: 5 }, /^invalid JSON: source/],
    [{ ...ROUTE, under_attack: 'on' }, /^invalid JSON: under_attack: /],
    [{ ...ROUTE, domain: '' }, /^invalid domain: /],
    [{ ...ROUTE, domain: '*' }, /^invalid domain: /],
    [{ ...ROUTE, domain: 'a b' }, /^invalid domain: /],
    [{ ...ROUTE, domain: 'a.test:80' }, /^invalid domain: /],
    [{ ...ROUTE, domain: 'http://a.test' }, /^invalid domain: /],
    [{ ...ROUTE, domain: `${'a'.repeat(64)}.test` }, /^invalid domain: /],
    [{ ...ROUTE, upstream: 'nonsense' }, /^invalid upstream address: /],
    [{ ...ROUTE, upstream: '1.2.3.4:0' }, /^invalid upstream address: /],
    [{ ...ROUTE, upstream: '1.2.3.4:65536' }, /^invalid upstream address: /],
    [{ ...ROUTE, upstream: '::1:80' }, /^invalid upstream address: /],
  ];
  for (const [index, [body, message]] of cases.entries()) {
    if (index % 20 === 19) api.clock.pass(60_000);
    const reply = await api.post(body);
    assert.equal(reply.status, 400, JSON.stringify(body));
    assert.match((JSON.parse(reply.text) as { error: string }).error, message);
  }
  assert.equal((await api.post('{"domain":"\xff"}', { socket: true, headers: {} })).status, 400);
  const invalid = await api.request('POST', '/routes', { body: Buffer.from('7b22ff223a317d', 'hex') });
  assert.deepEqual(JSON.parse(invalid.text), error('invalid JSON: the body is not UTF-8'));
  assert.equal(api.table.list().length, 0);
});

test('markup characters in an error message are escaped', async () => {
  await using api = await RunningAdmin.start();
  const reply = await api.post('<script>alert("x")</script>');
  assert.equal(reply.status, 400);
  assert.doesNotMatch(reply.text, /[<>]/);
});

test('a body of 65,536 bytes is accepted and one more byte is answered with 413, with or without a length, while the client is still sending', async () => {
  await using api = await RunningAdmin.start();
  const sized = (bytes: number) => {
    const body = JSON.stringify({ ...ROUTE, padding: '' });
    return body.replace('"padding":""', `"padding":"${'x'.repeat(bytes - body.length)}"`);
  };
  assert.equal((await api.post(sized(65_536))).status, 201);
  for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
    const reply = await api.post(sized(65_537), { headers });
    assert.equal(reply.status, 413);
    assert.deepEqual(JSON.parse(reply.text), error('request body too large'));
  }
  assert.equal((await api.post(sized(5_000_000))).status, 413);
});

test('wrong methods, HEAD and OPTIONS included, are answered with 405 and Allow; unknown paths with 404', async () => {
  await using api = await RunningAdmin.start();
  for (const [method, path, allow] of [
    ['PUT', '/routes', 'GET, POST'],
    ['HEAD', '/routes', 'GET, POST'],
    ['OPTIONS', '/routes', 'GET, POST'],
    ['POST', '/health', 'GET'],
    ['GET', '/routes/a.test', 'DELETE'],
    ['GET', '/cache/a/b', 'PURGE'],
    ['GET', '/reload', 'POST'],
    ['POST', '/analytics/a', 'GET, DELETE'],
    ['DELETE', '/analytics/a/history', 'GET'],
  ] as const) {
    const reply = await api.request(method, path);
    assert.equal(reply.status, 405, `${method} ${path}`);
    assert.equal(reply.headers.allow, allow);
    if (method !== 'HEAD') assert.deepEqual(JSON.parse(reply.text), error('method not allowed'));
  }
  for (const path of ['/', '/Routes', '/routes/a/b', '/health/', '/nowhere']) {
    const reply = await api.request('GET', path);
    assert.equal(reply.status, 404, path);
    assert.deepEqual(JSON.parse(reply.text), error('not found'));
    assert.equal(reply.headers['x-powered-by'], undefined);
    assert.equal(reply.headers.etag, undefined);
  }
});

test('empty segments, bad escapes and bad domains each have their own message', async () => {
  await using api = await RunningAdmin.start();
  const cases: [string, string, number, RegExp][] = [
    ['DELETE', '/routes/', 400, /^missing domain$/],
    ['DELETE', '/routes/%zz', 400, /^invalid path: /],
    ['GET', '/analytics/', 400, /^invalid domain: /],
    ['GET', '/analytics/a%20b', 400, /^invalid domain: /],
    ['GET', '/analytics/quiet.test', 404, /^no analytics for domain$/],
    ['PURGE', '/cache/', 400, /./],
    ['PURGE', '/cache/a.test', 400, /^missing cache key$/],
    ['PURGE', '/cache/a.test/', 501, /^cache not enabled$/],
    ['PURGE', '/cache', 400, /^invalid query: /],
    ['PURGE', '/cache?host=a.test&prefx=/img/', 400, /^invalid query: the parameters are tag, host and prefix$/],
    ['PURGE', '/cache?tag=a&tag=b', 400, /^invalid query: tag is given more than once$/],
    ['PURGE', '/cache?tag=a', 501, /^cache not enabled$/],
    ['PURGE', '/cache/a.test/page', 501, /^cache not enabled$/],
    ['POST', '/reload', 501, /^reload not supported — config watcher not active$/],
    ['GET', '/routes?view=odd', 400, /^invalid query: /],
    ['GET', '/explain', 400, /^invalid query: /],
    ['GET', '/explain?url=http://', 400, /^invalid query: /],
  ];
  for (const [method, path, status, message] of cases) {
    const reply = await api.request(method, path);
    assert.equal(reply.status, status, `${method} ${path} ${reply.text}`);
    assert.match((JSON.parse(reply.text) as { error: string }).error, message);
    assert.match(reply.headers['content-type'] ?? '', /^application\/json/);
  }
  assert.deepEqual(JSON.parse((await api.request('GET', '/analytics')).text), []);
});

test('metrics have their own content type and are answered with 404 when disabled', async () => {
  await using on = await RunningAdmin.start();
  const metrics = await on.request('GET', '/metrics');
  assert.equal(metrics.headers['content-type'], 'text/plain; version=0.0.4');
  assert.equal(metrics.text, 'sluice_up 1\n');
  await using off = await RunningAdmin.start({ metrics: null });
  const reply = await off.request('GET', '/metrics');
  assert.equal(reply.status, 404);
  assert.deepEqual(JSON.parse(reply.text), error('metrics not enabled'));
});

test('the probe listener serves health, readiness and metrics without a token, and nothing else', async () => {
  await using api = await RunningAdmin.start({ ready: () => ({ ready: false, reason: 'nothing yet' }) });
  const probe = (method: string, path: string) => sendRequest({ host: '127.0.0.1', port: api.probePort, method, path });
  assert.equal((await probe('GET', '/health')).status, 200);
  assert.equal((await probe('GET', '/metrics')).status, 200);
  const ready = await probe('GET', '/ready');
  assert.equal(ready.status, 503);
  assert.match(ready.text, /nothing yet/);
  for (const [method, path] of [
    ['GET', '/routes'],
    ['POST', '/routes'],
    ['POST', '/health'],
    ['GET', '/status'],
  ] as const)
    assert.equal((await probe(method, path)).status, 404, path);
});

test('a change that the workers do not acknowledge is answered with 503', async () => {
  const silent = { ...agreeing(), publish: () => Promise.reject(new UnacknowledgedError('one worker is silent')) };
  await using api = await RunningAdmin.start({}, silent);
  const reply = await api.post(ROUTE);
  assert.equal(reply.status, 503);
  assert.deepEqual(JSON.parse(reply.text), error('not served yet: one worker is silent'));
});

test('an internal failure is answered with 500 and reveals no details', async () => {
  await using api = await RunningAdmin.start({
    settings: () => {
      throw new Error('secret path /root');
    },
  });
  const reply = await api.request('GET', '/settings');
  assert.equal(reply.status, 500);
  assert.deepEqual(JSON.parse(reply.text), error('serialize error: see the log'));
});

test('the socket is accessible only to its owner, replaces the file of a dead process, and never replaces a live socket', async () => {
  await using api = await RunningAdmin.start();
  assert.equal(statSync(api.socketPath).mode & 0o777, 0o600);
  await assert.rejects(api.admin.listenSocket(api.socketPath), UnusableSocketError);
  const stale = `${api.folder}/stale.sock`;
  const { spawnSync } = await import('node:child_process');
  // A process that is killed while it listens leaves its socket file behind.
  spawnSync(process.execPath, [
    '-e',
    `require('net').createServer().listen(${JSON.stringify(stale)}, () => process.kill(process.pid, 'SIGKILL'))`,
  ]);
  assert.ok(statSync(stale).isSocket());
  await api.admin.listenSocket(stale);
  assert.equal((await sendRequest({ socketPath: stale, method: 'GET', path: '/routes' })).status, 200);
});

test('bytes that are not HTTP, requests without a Host and CONNECT are answered with a JSON error', async () => {
  await using api = await RunningAdmin.start();
  for (const port of [api.port, api.probePort])
    for (const bytes of [
      '\x16\x03\x01\x02\x00\r\n\r\n',
      'GET /health HTTP/1.1\r\n\r\n',
      'CONNECT a.test:80 HTTP/1.1\r\nHost: localhost\r\n\r\n',
    ])
      assert.match(await answerTo(port, bytes), /^HTTP\/1\.1 400 .*application\/json.*\{"error":"malformed request"\}$/s, bytes);
});

test('percentiles are sent as floats, 0.0 without data', async () => {
  await using api = await RunningAdmin.start();
  const vitals = Array.from({ length: 100 }, () => ({ lcp: 1_200, cls: 0.125 }));
  api.analytics.record({ domains: [domainReport('a.test', { vitals })] });
  for (const path of ['/analytics', '/analytics/a.test']) {
    const { text } = await api.request('GET', path);
    assert.match(text, /"lcp":\{"p50":1200\.0,"p75":1200\.0,"p95":1200\.0,"p99":1200\.0\},"cls":\{"p50":0\.125,.*\},"inp":\{"p50":0\.0,/);
    assert.match(text, /\},"timestamp":"[^"]+"\}\]?$/);
  }
});

test('a method that Node does not know is a wrong one, after the same checks as for others', async () => {
  await using api = await RunningAdmin.start();
  const answer = (line: string, token: string | null = TOKEN, fields = 'Host: localhost') =>
    answerTo(api.port, `${line} HTTP/1.1\r\n${fields}\r\n${token === null ? '' : `Authorization: Bearer ${token}\r\n`}\r\n`);
  for (const method of ['FOO', 'get', 'GETS', 'DESCRIBE']) {
    const reply = await answer(`${method} /routes`);
    assert.match(reply, /^HTTP\/1\.1 405 Method Not Allowed\r\n.*\r\nallow: GET, POST\r\n/s, method);
    assert.match(reply, /\r\nContent-Type: application\/json\r\n.*\r\n\r\n\{"error":"method not allowed"\}$/s, method);
  }
  assert.match(await answer('FOO /health', null), /^HTTP\/1\.1 401 .*\{"error":"unauthorized"\}$/s);
  assert.match(await answer('FOO /routes', 'wrong'), /^HTTP\/1\.1 401 .*www-authenticate: Bearer/s);
  assert.match(await answer('FOO /routes', TOKEN, 'Host: a.example'), /^HTTP\/1\.1 403 /);
  assert.match(await answer('FOO /nowhere'), /^HTTP\/1\.1 404 .*\{"error":"not found"\}$/s);
  assert.match(await answer('FOO /analytics/%zz'), /^HTTP\/1\.1 400 .*\{"error":"invalid path: /s);
  for (const bytes of ['FOO /routes HTTP/1.1\r\n: x\r\n\r\n', 'FOO  /routes HTTP/1.1\r\nHost: a\r\n\r\n', 'FOO /routes HTTP/2.0\r\n\r\n'])
    assert.match(await answerTo(api.port, bytes), /^HTTP\/1\.1 400 .*malformed request/s, bytes);
  for (let counted = 0; counted < 60; counted++) await answer('FOO /routes');
  assert.match(await answer('FOO /routes'), /^HTTP\/1\.1 429 .*retry-after: /s);
});

test('a client that breaks its connection off after CONNECT ends nothing else', async () => {
  await using api = await RunningAdmin.start();
  for (const port of [api.port, api.probePort])
    for (const more of ['', 'more'.repeat(1_000)]) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      socket.write(`CONNECT a.test:80 HTTP/1.1\r\nHost: localhost\r\n\r\n${more}`);
      socket.resetAndDestroy();
      await once(socket, 'close');
      assert.match(await answerTo(port, 'GET /health HTTP/1.0\r\n\r\n'), /"ok"/);
    }
});

test('an expectation that is not known is ignored, and HTTP/1.0 needs no Host', async () => {
  await using api = await RunningAdmin.start();
  for (const head of ['GET /health HTTP/1.1\r\nHost: localhost\r\nExpect: wonders\r\nConnection: close', 'GET /health HTTP/1.0'])
    assert.match(await answerTo(api.port, `${head}\r\n\r\n`), /^HTTP\/1\.1 200 .*"ok"/s, head);
});

/** Everything that the server sends until it closes the connection. */
const answerTo = (port: number, bytes: string): Promise<string> =>
  new Promise((resolve) => {
    let seen = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.on('data', (piece) => {
      seen += piece;
    });
    socket.on('close', () => resolve(seen));
  });

test('listening on an address in use fails with the system error', async () => {
  await using api = await RunningAdmin.start();
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  const { port } = taken.address() as { port: number };
  await assert.rejects(api.admin.listenTcp('127.0.0.1', port), { code: 'EADDRINUSE' });
  taken.close();
});

test('the view token reads analytics, routes and status, and changes nothing', async () => {
  await using api = await RunningAdmin.start({ viewToken: 'the-view-token' });
  const status = async (method: string, path: string, token = 'the-view-token') => (await api.request(method, path, { token })).status;
  for (const path of [
    '/routes',
    '/routes?view=full',
    '/analytics',
    '/metrics',
    '/status',
    '/upstreams',
    '/certificates',
    '/alerts',
    '/explain?url=http://a.test/',
  ])
    assert.equal(await status('GET', path), 200, path);
  for (const [method, path] of [
    ['POST', '/routes'],
    ['DELETE', '/routes/a.test'],
    ['DELETE', '/analytics/a.test'],
    ['PURGE', '/cache/a/b'],
    ['POST', '/reload'],
    ['DELETE', '/controllers/c'],
    ['POST', '/certificates'],
    ['DELETE', '/certificates/a.test'],
    ['GET', '/settings'],
  ] as const) {
    const reply = await api.request(method, path, { token: 'the-view-token' });
    assert.deepEqual(
      [reply.status, JSON.parse(reply.text)],
      [403, error('forbidden: the view token only reads routes, analytics and status')],
      `${method} ${path}`,
    );
  }
  assert.equal(await status('GET', '/nowhere'), 404);
  assert.equal(await status('GET', '/routes', 'another'), 401);
  assert.equal(await status('GET', '/settings', 'the-token'), 200);
});

test('an empty view token opens nothing', async () => {
  await using api = await RunningAdmin.start({ viewToken: '' });
  assert.equal((await api.request('GET', '/routes', { token: '' })).status, 401);
});
