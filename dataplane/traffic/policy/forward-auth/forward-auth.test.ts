import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import type { RouteInput } from '../../../../shared/route.ts';
import { Http2Client } from '../../testing/http2/upstream.ts';
import { cachingProxy } from '../../testing/proxy/caching-proxy.ts';
import { get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, refusingAddress, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field, type Message } from '../../testing/wire.ts';

const ALLOWED = 'HTTP/1.1 200 OK\r\nRemote-User: bob\r\nRemote-Groups: dev\r\nContent-Length: 2\r\n\r\nok';
const guarded = (auth: { readonly address: string }, upstream: { readonly address: string }, more: object = {}): RouteInput => ({
  ...site('a.test', upstream),
  forward_auth: { upstreams: [auth.address], uri: '/verify?x=1', copy_headers: [{ from: 'Remote-User', to: 'X-User' }], ...more },
});
const asking = (path: string, ...fields: string[]): string =>
  get(path).replace('\r\n\r\n', `\r\n${fields.map((line) => `${line}\r\n`).join('')}\r\n`);

test('the authentication server checks each request, over one connection, and sees the original request of the client', async () => {
  using auth = await UpstreamFixture.serving(ALLOWED);
  using upstream = await UpstreamFixture.serving(ok('page'));
  using proxy = await ProxyFixture.start([guarded(auth, upstream)]);
  const client = await proxy.connect();
  for (let time = 0; time < 3; time++) {
    client.send(
      'POST /secret?q=2 HTTP/1.1\r\nHost: a.test\r\nCookie: s=1\r\nAuthorization: Bearer t\r\nContent-Type: text/plain\r\nIf-None-Match: "x"\r\n' +
        'X-Forwarded-Uri: /open\r\nX_Forwarded_Method: GET\r\nContent-Length: 4\r\n\r\nbody',
    );
    assert.match((await client.readAnswer()).line, / 200 /);
  }
  assert.deepEqual([auth.connections.length, auth.requests.length], [1, 3]);
  const { line, head, body } = auth.requests[0] as Message;
  assert.equal(line, 'GET /verify?x=1 HTTP/1.1');
  assert.equal(body, '');
  for (const [name, value] of [
    ['Host', 'a.test'],
    ['Cookie', 's=1'],
    ['Authorization', 'Bearer t'],
    ['X-Forwarded-Method', 'POST'],
    ['X-Forwarded-Uri', '/secret?q=2'],
    ['X-Forwarded-Host', 'a.test'],
    ['X-Forwarded-For', '127.0.0.1'],
    ['Content-Type', null],
    ['If-None-Match', null],
    ['Content-Length', null],
  ] as const)
    assert.equal(field(head, name), value, name);
  assert.doesNotMatch(head, /X_Forwarded|\/open/);
  assert.match(upstream.requests[0]?.body ?? '', /^body$/);
});

test('the upstream gets the copied fields from the authentication server only, in no spelling from the client', async () => {
  using auth = await UpstreamFixture.serving((request) => (request.line.includes('none') ? ok('') : ALLOWED));
  using upstream = await UpstreamFixture.serving(ok('page'));
  using proxy = await ProxyFixture.start([
    guarded(auth, upstream, {
      copy_headers: [
        { from: 'Remote-User', to: 'X-User' },
        { from: 'Remote-Role', to: 'X-Role' },
      ],
    }),
  ]);
  await proxy.request(
    asking('/', 'X-User: admin', 'x_user: admin', 'x.user: admin', 'X~User: admin', 'X-ROLE: root', 'X_Role: root', 'X-Users: kept'),
  );
  const head = upstream.requests[0]?.head ?? '';
  assert.equal(field(head, 'X-User'), 'bob');
  assert.equal(field(head, 'X-Users'), 'kept');
  assert.doesNotMatch(head, /admin|root|X_|x_|x\.|X~/);
});

test('header_up changes the request to the authentication server, in every spelling, and not the one to the upstream', async () => {
  using auth = await UpstreamFixture.serving(ALLOWED);
  using upstream = await UpstreamFixture.serving(ok('page'));
  const request_headers = [
    { name: 'X-Original-URL', value: '{scheme}://{host}{uri}' },
    { name: 'X-Key', value: 'secret' },
    { name: 'Cookie', value: null },
    { name: 'Accept', value: 'html', op: 'replace', find: 'any' },
    { name: 'Host', value: '{upstream_hostport}' },
  ];
  using proxy = await ProxyFixture.start([guarded(auth, upstream, { request_headers })]);
  await proxy.request(asking('/a?b=c', 'X_Key: forged', 'X-Original-Url: http://evil/', 'Cookie: s=1', 'Accept: any'));
  const [asked, sent] = [auth.requests[0]?.head ?? '', upstream.requests[0]?.head ?? ''];
  assert.deepEqual(
    ['X-Original-URL', 'X-Key', 'Cookie', 'Accept', 'Host', 'X-Forwarded-Host', 'X-Forwarded-Uri'].map((name) => field(asked, name)),
    ['http://a.test/a?b=c', 'secret', null, 'html', auth.address, 'a.test', '/a?b=c'],
  );
  assert.doesNotMatch(asked, /forged|evil/);
  assert.deepEqual(
    ['X_Key', 'Cookie', 'Accept', 'Host'].map((name) => field(sent, name)),
    ['forged', 's=1', 'any', 'a.test'],
  );
  assert.doesNotMatch(sent, /secret/);
});

test('a request is refused if header_up would make a header that is unsafe, and the authentication server is not asked', async () => {
  using auth = await UpstreamFixture.serving(ALLOWED);
  using upstream = await UpstreamFixture.serving(ok('page'));
  for (const change of [
    { name: 'Host', value: '{header.x-tenant}' },
    { name: 'X-Long', value: '{header.x-tenant}'.repeat(3) },
  ]) {
    using proxy = await ProxyFixture.start([guarded(auth, upstream, { request_headers: [change] })]);
    const answer = await proxy.request(asking('/', `X-Tenant: a b${'c'.repeat(6_000)}`));
    assert.match(answer.line, / 400 /);
  }
  assert.deepEqual([auth.requests.length, upstream.requests.length], [0, 0]);
});

test('any answer but 2xx goes to the client complete, and the upstream gets no request', async () => {
  const login =
    'HTTP/1.1 302 Found\r\nLocation: https://auth.test/login?rd=x\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nlogin\r\n0\r\n\r\n';
  using auth = await UpstreamFixture.serving(login);
  using upstream = await UpstreamFixture.serving(ok('page'));
  using proxy = await ProxyFixture.start([guarded(auth, upstream)]);
  const answer = await proxy.request(get('/secret'));
  assert.match(answer.line, / 302 /);
  assert.equal(field(answer.head, 'Location'), 'https://auth.test/login?rd=x');
  assert.deepEqual(answer.head.match(/^Set-Cookie: .*$/gm), ['Set-Cookie: a=1', 'Set-Cookie: b=2']);
  assert.equal(answer.head.match(/^Date:/gm)?.length, 1);
  assert.equal(answer.body, 'login');
  const head = await proxy.request(get('/secret').replace('GET', 'HEAD'));
  assert.deepEqual([head.line.slice(9, 12), head.body], ['302', '']);
  assert.equal(upstream.requests.length, 0);
});

test('its own security headers override the defaults, and those of the site override both', async () => {
  const login = 'HTTP/1.1 401 Unauthorized\r\nX-Frame-Options: DENY\r\nContent-Length: 5\r\n\r\nlogin';
  using auth = await UpstreamFixture.serving(login);
  const frames = async (headers: NonNullable<RouteInput['headers']>): Promise<readonly string[]> => {
    using proxy = await ProxyFixture.start([{ ...guarded(auth, auth), headers }]);
    const { head } = await proxy.request(get());
    assert.equal(field(head, 'X-Content-Type-Options'), 'nosniff');
    return head.match(/X-Frame-Options: .*/g) ?? [];
  };
  assert.deepEqual(await frames([]), ['X-Frame-Options: DENY']);
  assert.deepEqual(await frames([{ name: 'X-A', value: 'b', op: 'add' }]), ['X-Frame-Options: DENY']);
  assert.deepEqual(await frames([{ name: 'X-Frame-Options', value: 'SAMEORIGIN' }]), ['X-Frame-Options: SAMEORIGIN']);
});

test('an authentication server that can’t be reached, breaks off or is silent lets no one in', async () => {
  using upstream = await UpstreamFixture.serving(ok('page'));
  const refusing = { address: await refusingAddress() };
  using broken = await UpstreamFixture.serving((_, wire) => {
    wire.send('HTTP/1.1 401 Unauthorized\r\nContent-Length: 100\r\n\r\npart');
    wire.end();
    return null;
  });
  using closing = await UpstreamFixture.serving((_, wire) => {
    wire.end();
    return null;
  });
  using endless = await UpstreamFixture.serving(`HTTP/1.1 403 Forbidden\r\nContent-Length: 2000000\r\n\r\n${'x'.repeat(2_000_000)}`);
  for (const [auth, status] of [
    [refusing, '502'],
    [broken, '502'],
    [closing, '502'],
    [endless, '502'],
  ] as const) {
    using proxy = await ProxyFixture.start([guarded(auth, upstream)]);
    assert.equal((await proxy.request(get())).line.slice(9, 12), status);
  }
  using silent = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([guarded(silent, upstream, { timeout_secs: 2 })]);
  const client = await proxy.connect();
  client.send(get());
  await silent.nextRequest();
  proxy.clock.pass(3_000);
  assert.match((await client.readAnswer()).line, / 504 /);
  assert.equal(upstream.requests.length, 0);
});

test('a client that leaves cancels the question', async () => {
  using auth = await UpstreamFixture.start();
  using upstream = await UpstreamFixture.serving(ok('page'));
  using proxy = await ProxyFixture.start([guarded(auth, upstream)]);
  const client = await proxy.connect();
  client.send(get());
  const { wire } = await auth.nextRequest();
  client.socket.resetAndDestroy();
  await wire.until('the question over HTTP/1.1 to be cancelled', () => wire.closed || wire.ended);
  using other = new Http2Client(proxy);
  const stream = other.session.request({ ':path': '/', ':authority': 'a.test' });
  stream.on('error', () => undefined);
  const next = await auth.nextRequest();
  stream.close(8);
  await next.wire.until('the question over HTTP/2 to be cancelled', () => next.wire.closed || next.wire.ended);
  assert.equal(upstream.requests.length, 0);
});

test('an approval with a long body doesn’t delay the request, and requests over HTTP/2 are checked too', async () => {
  using auth = await UpstreamFixture.serving(`HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(100_000)}`);
  using upstream = await UpstreamFixture.serving(ok('page'));
  using proxy = await ProxyFixture.start([guarded(auth, upstream)]);
  assert.equal((await proxy.request(get())).body, 'page');
  using client = new Http2Client(proxy);
  assert.equal((await client.request({ ':path': '/', cookie: 's=1' })).body, 'page');
  assert.equal(field(auth.requests[1]?.head ?? '', 'Cookie'), 's=1');
});

test('an upgrade is asked about before it reaches the upstream', async () => {
  using auth = await UpstreamFixture.serving('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
  using upstream = await UpstreamFixture.serving(ok('page'));
  using proxy = await ProxyFixture.start([guarded(auth, upstream)]);
  const fields = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='];
  assert.match((await proxy.request(asking('/ws', ...fields))).line, / 403 /);
  assert.equal(upstream.requests.length, 0);
});

test('the authentication server is not told to expect the body or the trailers that only the upstream gets', async () => {
  using auth = await UpstreamFixture.serving(({ head }) =>
    field(head, 'Expect') === null ? ALLOWED : 'HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n',
  );
  using upstream = await UpstreamFixture.serving(({ head, body }) => ok(`${field(head, 'Expect')} ${body}`));
  using proxy = await ProxyFixture.start([guarded(auth, upstream)]);
  const client = await proxy.connect();
  client.send('POST / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nTrailer: X-Sum\r\nContent-Length: 4\r\n\r\nbody');
  assert.equal((await client.readAnswer()).body, '100-continue body');
  assert.equal(field(auth.requests[0]?.head ?? '', 'Trailer'), null);
});

test('a body that arrives meanwhile is kept for the upstream', async () => {
  using auth = await UpstreamFixture.start();
  using upstream = await UpstreamFixture.serving((request) => ok(request.body));
  using proxy = await ProxyFixture.start([guarded(auth, upstream)]);
  const client = await proxy.connect();
  client.send('POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n');
  const { wire } = await auth.nextRequest();
  client.send('3\r\ntwo\r\n0\r\n\r\n');
  wire.send(ALLOWED);
  assert.equal((await client.readAnswer()).body, 'onetwo');
  using h2 = new Http2Client(proxy);
  const stream = h2.session.request({ ':path': '/', ':method': 'POST', ':authority': 'a.test' });
  stream.write('one');
  const asked = await wire.readRequest();
  assert.match(asked.line, /^GET \/verify/);
  stream.end('two');
  wire.send(ALLOWED);
  const [head] = await once(stream, 'response');
  assert.equal(head[':status'], 200);
});

test('the rest of a body of known length is read once the request is allowed, if a part of it has arrived meanwhile', async () => {
  for (const first of ['', 'one']) {
    using auth = await UpstreamFixture.start();
    using upstream = await UpstreamFixture.serving((request) => ok(request.body));
    using proxy = await ProxyFixture.start([guarded(auth, upstream)]);
    const client = await proxy.connect();
    client.send(`POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${6 + first.length}\r\n\r\n${first}`);
    const { wire } = await auth.nextRequest();
    client.send('two');
    // Connections are read in the order in which bytes arrive, so these have been once others have got a response.
    await proxy.request('GET / HTTP/1.1\r\nHost: unknown.test\r\n\r\n');
    wire.send(ALLOWED);
    await proxy.request('GET / HTTP/1.1\r\nHost: unknown.test\r\n\r\n');
    client.send('end');
    assert.equal((await client.readAnswer()).body, `${first}twoend`);
  }
});

test('the answer of a route that was replaced meanwhile still decides', async () => {
  using auth = await UpstreamFixture.start();
  using upstream = await UpstreamFixture.serving(ok('page'));
  using proxy = await ProxyFixture.start([guarded(auth, upstream)]);
  const client = await proxy.connect();
  client.send(get());
  const { wire } = await auth.nextRequest();
  await proxy.publish([site('a.test', upstream)]);
  wire.send(ALLOWED);
  assert.equal((await client.readAnswer()).body, 'page');
  await wire.until('the idle connection to be closed', () => wire.closed || wire.ended);
});

test('placeholders in uri cannot add a parameter, and one that is too long is answered with 400', async () => {
  using auth = await UpstreamFixture.serving(ok(''));
  using upstream = await UpstreamFixture.serving(ok('page'));
  using proxy = await ProxyFixture.start([
    guarded(auth, upstream, { uri: '/verify/{method}?rd={scheme}://{host}{uri}&k={header.X-K}&m={method}' }),
  ]);
  await proxy.request(get('/a%20b?x=1&allowed_groups=all#', 'X-K: 1&allowed_groups=all \xe4#\r\n').replace('#', ''));
  assert.equal(
    auth.requests[0]?.line,
    'GET /verify/GET?rd=http://a.test/a%2520b%3Fx%3D1%26allowed_groups%3Dall&k=1%26allowed_groups%3Dall%20%E4%23&m=GET HTTP/1.1',
  );
  const long = await proxy.request(get('/', `X-K: ${'&'.repeat(8_000)}\r\n`));
  assert.match(long.line, / 400 /);
  assert.equal(auth.requests.length, 1);
});

test('a client does not lead the question to another page of the authentication server, which might answer with 200', async () => {
  for (const uri of ['/verify{path}', '/verify/{query.p}', '/verify{uri}?x=1']) {
    using auth = await UpstreamFixture.serving((request) =>
      / \/verify/.test(request.line) && !/\.\.|%2e/i.test(request.line) ? 'HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno' : ALLOWED,
    );
    using upstream = await UpstreamFixture.serving(ok('page'));
    using proxy = await ProxyFixture.start([guarded(auth, upstream, { uri })]);
    for (const path of ['/../?p=../', '/%2e%2e/?p=%2e%2e/x', '/..%2f?p=..%5C', '/x/../../?p=x/../..'])
      assert.match((await proxy.request(get(path))).line, / 40[03] /, `${uri} ${path}`);
    assert.match((await proxy.request(get('/a/b?p=c'))).line, / 403 /, uri);
    assert.equal(upstream.requests.length, 0);
  }
  using auth = await UpstreamFixture.serving(ALLOWED);
  using upstream = await UpstreamFixture.serving(ok('page'));
  using proxy = await ProxyFixture.start([guarded(auth, upstream, { uri: '/{path}?x=1' })]);
  await proxy.request(get('//host/verify'));
  assert.equal(auth.requests[0]?.line, 'GET /host/verify?x=1 HTTP/1.1');
});

test('a rejection with a listed status redirects the client, and the connection to the authentication server is used again', async () => {
  using auth = await UpstreamFixture.serving((request) =>
    request.head.includes('other')
      ? 'HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno'
      : 'HTTP/1.1 401 Unauthorized\r\nSet-Cookie: a=b\r\nContent-Length: 5\r\n\r\nlogin',
  );
  using upstream = await UpstreamFixture.serving(ok('page'));
  const rejections = [{ statuses: [401], to: '/oauth2/sign_in?rd={scheme}://{hostport}{uri}', status: 302 }];
  using proxy = await ProxyFixture.start([guarded(auth, upstream, { rejections })]);
  const client = await proxy.connect();
  for (const [path, location] of [
    ['/x?a=1&b=2', '/oauth2/sign_in?rd=http://a.test/x%3Fa%3D1%26b%3D2'],
    ['//evil.test/', '/oauth2/sign_in?rd=http://a.test//evil.test/'],
  ] as const) {
    client.send(get(path));
    const { line, head } = await client.readAnswer();
    assert.deepEqual([line.slice(9, 12), field(head, 'Location'), field(head, 'Set-Cookie')], ['302', location, null]);
  }
  assert.equal(auth.connections.length, 1);
  assert.deepEqual((await proxy.request(get('/', 'X-A: other\r\n'))).body, 'no');
  assert.equal(upstream.requests.length, 0);
});

const REFRESHED =
  'HTTP/1.1 202 Accepted\r\nSet-Cookie: _oauth2_proxy_0=a; Path=/\r\nset-cookie: _oauth2_proxy_1=b\r\nContent-Length: 0\r\n\r\n';
const cookiesIn = (head: string): readonly string[] => [...head.matchAll(/^Set-Cookie: (.*)$/gim)].map(([, value = '']) => value);

test('cookies that come with an approval go to the client only with pass_cookies, beside those of the upstream', async () => {
  using auth = await UpstreamFixture.serving(REFRESHED);
  using upstream = await UpstreamFixture.serving('HTTP/1.1 200 OK\r\nSet-Cookie: app=1\r\nContent-Length: 4\r\n\r\npage');
  const passing = { ...guarded(auth, upstream, { pass_cookies: true }), domain: 'b.test' };
  using proxy = await ProxyFixture.start([guarded(auth, upstream), passing]);
  assert.deepEqual(cookiesIn((await proxy.request(get())).head), ['app=1']);
  const { head, body } = await proxy.request(get().replace('a.test', 'b.test'));
  assert.deepEqual([cookiesIn(head), body], [['app=1', '_oauth2_proxy_0=a; Path=/', '_oauth2_proxy_1=b'], 'page']);
  assert.doesNotMatch(upstream.requests[1]?.head ?? '', /_oauth2_proxy/);
});

test('cookies that come with an approval go along with a response of the cache, which does not store them', async () => {
  using auth = await UpstreamFixture.serving(() =>
    auth.requests.length < 3 ? REFRESHED : 'HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n',
  );
  using upstream = await UpstreamFixture.serving(ok('page', 'Cache-Control: public, max-age=60\r\n'));
  using proxy = await cachingProxy({ ...guarded(auth, upstream, { pass_cookies: true }), cache: {} });
  assert.equal(cookiesIn((await proxy.request(get())).head).length, 2);
  using client = new Http2Client(proxy);
  const { head, body } = await client.request({ ':path': '/' });
  assert.deepEqual([head['set-cookie'], body], [['_oauth2_proxy_0=a; Path=/', '_oauth2_proxy_1=b'], 'page']);
  assert.deepEqual(cookiesIn((await proxy.request(get())).head), []);
  assert.equal(upstream.requests.length, 1);
});

test('cookies that come with an approval go along with an error of the proxy', async () => {
  using auth = await UpstreamFixture.serving(REFRESHED);
  using proxy = await ProxyFixture.start([guarded(auth, { address: await refusingAddress() }, { pass_cookies: true })]);
  const { line, head } = await proxy.request(get());
  assert.deepEqual([line.slice(9, 12), cookiesIn(head)], ['502', ['_oauth2_proxy_0=a; Path=/', '_oauth2_proxy_1=b']]);
});

test('cookies that come with a rejection go along with the redirect that replaces it', async () => {
  using auth = await UpstreamFixture.serving('HTTP/1.1 401 Unauthorized\r\nSet-Cookie: s=; Max-Age=0\r\nContent-Length: 0\r\n\r\n');
  using upstream = await UpstreamFixture.serving(ok('page'));
  const rejections = [{ statuses: [401], to: '/login', status: 302 }];
  using proxy = await ProxyFixture.start([guarded(auth, upstream, { pass_cookies: true, rejections })]);
  const { line, head } = await proxy.request(get());
  assert.deepEqual([line.slice(9, 12), field(head, 'Location'), cookiesIn(head)], ['302', '/login', ['s=; Max-Age=0']]);
});

test('cookies that come with an approval go along with an accepted upgrade', async () => {
  using auth = await UpstreamFixture.serving(REFRESHED);
  using upstream = await UpstreamFixture.serving((_, wire) => {
    wire.send('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    return null;
  });
  using proxy = await ProxyFixture.start([guarded(auth, upstream, { pass_cookies: true })]);
  const client = await proxy.connect();
  client.send(
    asking('/ws', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='),
  );
  const { line, head } = await client.readAnswer();
  assert.deepEqual([line.slice(9, 12), cookiesIn(head)], ['101', ['_oauth2_proxy_0=a; Path=/', '_oauth2_proxy_1=b']]);
});
