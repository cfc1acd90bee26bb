import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteInput } from '../../../../shared/route.ts';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import type { Message } from '../../testing/wire.ts';
import { compileDecided } from './decided-fields.ts';

const FRESH = 'Cache-Control: max-age=60\r\n';
const caching = (upstream: { readonly address: string }, more: Partial<RouteInput> = {}, trustedProxies: string[] = []) =>
  ProxyFixture.with(
    [{ ...site('a.test', upstream), cache: {}, ...more }],
    { cacheSize: 10_000_000, trustedProxies: trustedProxies as never },
    {
      onCache: (message, worker) => {
        if (message.kind === 'look-up')
          worker.handle({ kind: 'cache', message: { kind: 'found', key: message.key, entries: [], purged: 0 } });
      },
    },
  );
const asking = (path: string, ...lines: string[]): string => get(path, lines.map((line) => `${line}\r\n`).join(''));

/** Echoes the whole request, as a server does that puts fields into its page. */
const echo = (request: Message): string => ok(request.head + request.body, FRESH);

for (const lines of [
  ['X-Forwarded-Host: evil.test'],
  ['X_Forwarded_Host: evil.test'],
  ['X-Forwarded-Proto: evil'],
  ['X-Forwarded-Port: 666'],
  ['X-Forwarded-Scheme: evil'],
  ['X-Forwarded-Server: evil.test'],
  ['X-Forwarded-Prefix: /evil'],
  ['X-Host: evil.test'],
  ['X-Original-URL: /evil'],
  ['X-Rewrite-URL: /evil'],
  ['X-Original-Host: evil.test'],
  ['X-HTTP-Host-Override: evil.test'],
  ['Forwarded: host=evil.test'],
  ['X-HTTP-Method-Override: EVIL'],
  ['X-HTTP-Method: EVIL'],
  ['X-Method-Override: EVIL'],
  ['X-Middleware-Subrequest: evil'],
])
  test(`a request with ${lines[0]} does not decide what others get`, async () => {
    using upstream = await UpstreamFixture.serving(echo);
    using proxy = await caching(upstream);
    await proxy.request(asking('/', ...lines));
    // Ids of requests are hexadecimal: only a whole field's value is the client's port.
    assert.doesNotMatch((await proxy.request(get('/'))).body, /evil|: 666\b/i);
  });

for (const line of ['X-Device: evil', 'x-device: evil', 'X_Device: evil', 'X.Device:evil'])
  for (const agent of ['phone', 'desktop'])
    for (const removed of [true, false])
      test(`${line} from a ${agent} does not decide what others get where the site sets it for some${removed ? ', after removing it' : ''}`, async () => {
        using upstream = await UpstreamFixture.serving(echo);
        const set = { name: 'X-Device', value: 'evil', match: { name: 'phones', header: [{ name: 'User-Agent', values: ['phone'] }] } };
        const headers = removed ? [{ name: 'X-Device', value: null }, set] : [set];
        using proxy = await caching(upstream, { request_headers: headers });
        await proxy.request(asking('/', `User-Agent: ${agent}`, line));
        assert.doesNotMatch((await proxy.request(asking('/', 'User-Agent: desktop'))).body, /device: ?evil/i);
        const { body } = await proxy.request(asking('/', 'User-Agent: phone'));
        assert.match(body, /X-Device: evil/);
        assert.equal((await proxy.request(asking('/', 'User-Agent: phone'))).body, body, 'stored for its own kind');
      });

test('fields that forward_auth and jwt copy are part of the key, even if a client has sent the same', async () => {
  const key = (fields: string, names: string[]) => compileDecided(names)?.(fields);
  assert.equal(key('A: 1\r\nRemote_User: x\r\nremote-user: y\r\n', ['Remote-User']), 'Remote_User: x\r\nremote-user: y\r\n');
  assert.equal(key('A: 1\r\n', ['Remote-User']), '');
  assert.equal(compileDecided([]), null);
});

for (const name of ['X-Forwarded-For', 'x_forwarded_for', 'X-Real-IP', 'X-Request-ID', 'traceparent', 'Accept, x-real-ip'])
  test(`a response that depends on ${name} is for its own client only`, async () => {
    using upstream = await UpstreamFixture.serving((request: Message) => ok(request.head, `${FRESH}Vary: ${name}\r\n`));
    using proxy = await caching(upstream, {}, ['127.0.0.1/32']);
    for (const client of ['192.0.2.1', '192.0.2.2'])
      assert.match((await proxy.request(asking('/', `X-Forwarded-For: ${client}`))).body, new RegExp(`X-Real-IP: ${client}`));
  });

for (const name of ['X-Forwarded-Proto', 'X-Forwarded-Host', 'Host'])
  test(`a response that depends on ${name}, which is a part of the key, is stored`, async () => {
    using upstream = await UpstreamFixture.serving((request: Message) => ok(request.head, `${FRESH}Vary: ${name}\r\n`));
    using proxy = await caching(upstream);
    const { body } = await proxy.request(get('/'));
    assert.equal((await proxy.request(get('/'))).body, body);
    assert.equal(upstream.requests.length, 1);
  });

for (const status of [400, 401, 403, 406, 413, 429, 431]) {
  /** Rejects one client, as firewalls and limits of applications do. */
  const refusing = (): Promise<UpstreamFixture> =>
    UpstreamFixture.serving(({ head }: Message) =>
      /evil/.test(head) ? `HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n` : ok('fine', FRESH),
    );
  const evil = asking('/', 'User-Agent: evil');

  test(`a client that gets ${status} does not turn off the cache for others`, async () => {
    using upstream = await refusing();
    using proxy = await caching(upstream);
    assert.match((await proxy.request(evil)).line, new RegExp(` ${status} `));
    for (let turn = 0; turn < 3; turn++) assert.equal((await proxy.request(get('/'))).body, 'fine');
    assert.equal(upstream.requests.length, 2);
  });

  test(`a client that gets ${status} while a response is stale does not remove it`, async () => {
    using upstream = await refusing();
    using proxy = await caching(upstream, { cache: { stale_while_revalidate_secs: 600 } });
    await proxy.request(get('/'));
    proxy.clock.pass(61_000);
    // Its request causes the one in the background, with its own fields.
    assert.equal((await proxy.request(evil)).body, 'fine');
    await eventually('the refusal', () => upstream.requests.length === 2);
    assert.equal((await proxy.request(get('/'))).body, 'fine');
    await eventually('a new response', () => upstream.requests.length === 3);
    assert.equal((await proxy.request(evil)).body, 'fine');
  });
}

test('the body of a GET does not affect the responses to others', async () => {
  using upstream = await UpstreamFixture.serving(echo);
  using proxy = await caching(upstream);
  await proxy.request('GET / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 4\r\n\r\nevil');
  await proxy.request('GET / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n');
  assert.doesNotMatch((await proxy.request(get('/'))).body, /evil/);
});

test('another host that a trusted proxy names does not affect the responses to others', async () => {
  using upstream = await UpstreamFixture.serving(echo);
  using proxy = await caching(upstream, {}, ['127.0.0.1/32']);
  await proxy.request(asking('/', 'X-Forwarded-Host: evil.test'));
  assert.doesNotMatch((await proxy.request(get('/'))).body, /evil/);
});

test('a request id that looks like the line of the usual host does not hide that a trusted proxy names another one', async () => {
  using upstream = await UpstreamFixture.serving(echo);
  using proxy = await caching(upstream, {}, ['127.0.0.1/32']);
  await proxy.request(asking('/', 'X-Forwarded-Host: evil.test', 'X-Request-ID: X-Forwarded-Host: a.test'));
  assert.doesNotMatch((await proxy.request(get('/'))).body, /evil/);
});

for (const line of ['X-Forwarded-Port: 666', 'x-forwarded-prefix: /evil', 'X-Forwarded-User: evil', 'Client-Cert: :evil:'])
  test(`${line} from a trusted proxy is a part of the key`, async () => {
    using upstream = await UpstreamFixture.serving(echo);
    using proxy = await caching(upstream, {}, ['127.0.0.1/32']);
    const { body } = await proxy.request(asking('/', line));
    assert.match(body, /evil|: 666\r/);
    assert.doesNotMatch((await proxy.request(get('/'))).body, /evil|: 666\r/);
    assert.equal((await proxy.request(asking('/', line))).body, body);
    assert.equal(upstream.requests.length, 2);
  });

test('an error that a large request has provoked is not sent to others', async () => {
  using upstream = await UpstreamFixture.serving((request: Message) =>
    request.head.length > 4_000 ? `HTTP/1.1 400 Bad Request\r\n${FRESH}Content-Length: 0\r\n\r\n` : ok('fine', FRESH),
  );
  using proxy = await caching(upstream);
  assert.match((await proxy.request(asking('/', `X-Large: ${'x'.repeat(5_000)}`))).line, / 400 /);
  assert.equal((await proxy.request(get('/'))).body, 'fine');
});

for (const path of [
  '/account/x.css',
  '/account;x.css',
  '/account%2Fx.css',
  '/account%00.css',
  '/account%3Fx.css',
  '/account//x.js',
  '/static/..%2faccount',
])
  test(`what ${path} says of one person is not stored because the path looks static`, async () => {
    using upstream = await UpstreamFixture.serving((request: Message) =>
      ok(/cookie: (.*)/i.exec(request.head)?.[1] ?? 'nobody', 'Cache-Control: max-age=60\r\nContent-Type: text/html\r\n'),
    );
    using proxy = await caching(upstream, { cache: { ttls: [{ secs: 60 }] } });
    assert.equal((await proxy.request(asking(path, 'Cookie: session=ann'))).body, 'session=ann');
    assert.equal((await proxy.request(get(path))).body, 'nobody');
    assert.equal((await proxy.request(asking(path, 'Cookie: session=bob'))).body, 'session=bob');
  });

test('a coded response without Vary is not sent to clients that do not accept its coding', async () => {
  using upstream = await UpstreamFixture.serving((request: Message) =>
    /accept-encoding: gzip/i.test(request.head) ? ok('coded', `${FRESH}Content-Encoding: gzip\r\n`) : ok('plain', FRESH),
  );
  using proxy = await caching(upstream);
  assert.equal((await proxy.request(asking('/', 'Accept-Encoding: gzip'))).body, 'coded');
  assert.equal((await proxy.request(get('/'))).body, 'plain');
});

test('fields that a policy adds to the request of one client do not affect the responses to others', async () => {
  using upstream = await UpstreamFixture.serving(echo);
  using proxy = await caching(upstream, {
    request_headers: [{ name: 'X-Seen', value: '{header.x-any}' }],
  } as never);
  await proxy.request(asking('/', 'X-Any: one'));
  assert.match((await proxy.request(asking('/', 'X-Any: two'))).body, /X-Seen: two/);
});

test('blocks with conditions do not share responses for the same URL', async () => {
  using mobile = await UpstreamFixture.serving(ok('mobile', FRESH));
  using desktop = await UpstreamFixture.serving(ok('desktop', FRESH));
  using proxy = await caching(desktop, {
    handles: [{ path: null, match: { header: [{ name: 'X-Mobile', values: ['1'] }] }, upstreams: [{ address: mobile.address }] }],
  } as never);
  assert.equal((await proxy.request(asking('/', 'X-Mobile: 1'))).body, 'mobile');
  assert.equal((await proxy.request(get('/'))).body, 'desktop');
  assert.equal((await proxy.request(asking('/', 'X-Mobile: 1'))).body, 'mobile');
});

for (const [vary, poison, line] of [
  ['X-Variant', 'X-Variant: ,de', 'X-Variant: de'],
  ['X-Variant', 'X-Variant: de , at', 'X-Variant: de, at'],
  ['X-Variant', 'X-Variant: de\r\nX-Variant: at', 'X-Variant: de,at'],
  ['X-Variant', 'X_Variant: de', 'X-Other: de'],
  ['Accept-Language', 'Accept-Language: en, de', 'Accept-Language: de, en'],
  ['Accept-Language', 'Accept-Language: fr,\xa0de', 'Accept-Language: fr, de'],
  ['Accept-Language', 'Accept-Language: en, de;q = 0.1', 'Accept-Language: en, de;q=0.1'],
  ['Accept', 'Accept: text/plain;profile=A', 'Accept: text/plain;profile=a'],
  ['Accept', 'Accept: text/plain;profile="a, b;c"', 'Accept: text/plain;profile="a,b; c"'],
  ['Accept', 'Accept: */*, text/plain, application/json', 'Accept: application/json, text/plain, */*'],
] as const) {
  test(`the response to ${JSON.stringify(poison)} is not for ${line} if it varies by ${vary}`, async () => {
    using upstream = await UpstreamFixture.serving((request: Message) => ok(request.head, `${FRESH}Vary: ${vary}\r\n`));
    using proxy = await caching(upstream);
    await proxy.request(asking('/', poison));
    const { body } = await proxy.request(asking('/', line));
    assert.ok(body.includes(`\r\n${line}\r\n`), body);
    assert.equal((await proxy.request(asking('/', line))).body, body);
    assert.equal(upstream.requests.length, 2);
  });

  test(`nor if ${vary} is a part of the key`, async () => {
    using upstream = await UpstreamFixture.serving(echo);
    using proxy = await caching(upstream, { cache: { key: { headers: [vary] } } });
    await proxy.request(asking('/', poison));
    assert.ok((await proxy.request(asking('/', line))).body.includes(`\r\n${line}\r\n`));
  });
}

for (const [line, own] of [
  ['Cookie: a=1', ok('mine', 'Cache-Control: private\r\n')],
  ['Authorization: Basic YTpi', ok('mine', 'Cache-Control: private\r\n')],
  ['Cookie: a=1', 'HTTP/1.1 304 Not Modified\r\nSet-Cookie: a=2\r\n\r\n'],
] as const)
  test(`a request with ${line} that wants a newer response does not remove the one for everyone if its own is ${own.slice(9, 12)} and personal`, async () => {
    const all = ok('all', 'Cache-Control: public, max-age=60\r\nETag: "1"\r\n');
    using upstream = await UpstreamFixture.serving(({ head }) => (head.includes(`\r\n${line}\r\n`) ? own : all));
    using proxy = await caching(upstream);
    await proxy.request(get('/'));
    const { head } = await proxy.request(asking('/', line, 'Cache-Control: no-cache'));
    assert.match(head, /\r\nCache-Control: private\r\n|\r\nSet-Cookie: a=2\r\n/);
    assert.match((await proxy.request(get('/'))).head, /\r\nCache-Status: \S+ hit; /);
    assert.equal(upstream.requests.length, 2);
  });

test('a response that is not stored does not keep those to other requests from being stored if it varies', async () => {
  using upstream = await UpstreamFixture.serving(({ head }) =>
    ok('x', `Vary: Accept\r\nCache-Control: ${head.includes('\r\nAccept: application/json\r\n') ? 'no-store' : 'max-age=60'}\r\n`),
  );
  using proxy = await caching(upstream);
  for (const stored of ['fwd=uri-miss; fwd-status=200; stored', 'hit; ttl=60', 'hit; ttl=60']) {
    await proxy.request(asking('/', 'Accept: application/json'));
    const { head } = await proxy.request(asking('/', 'Accept: text/html'));
    assert.ok(head.includes(`\r\nCache-Status: sluice; ${stored}\r\n`), head);
  }
});

test('that several variants of a response are not stored is remembered of each, for a minute', async () => {
  using upstream = await UpstreamFixture.serving(ok('x', 'Vary: Accept-Encoding\r\nCache-Control: no-store\r\n'));
  using proxy = await caching(upstream);
  const lookUps = (): number => proxy.messages.filter((one) => one.kind === 'cache' && one.message.kind === 'look-up').length;
  for (const [seconds, wanted] of [
    [0, 2],
    [30, 2],
    [31, 4],
  ] as const) {
    proxy.clock.pass(1_000 * seconds);
    for (const coding of ['gzip', 'br', 'gzip', 'br']) await proxy.request(asking('/', `Accept-Encoding: ${coding}`));
    assert.equal(lookUps(), wanted);
  }
});

test('a cookie whose name has white space beyond ASCII is not the one in the key', async () => {
  using upstream = await UpstreamFixture.serving(echo);
  using proxy = await caching(upstream, { cache: { key: { cookies: ['a', 'theme'] } } });
  await proxy.request(asking('/', 'Cookie: a=1;\xa0theme=dark'));
  assert.match((await proxy.request(asking('/', 'Cookie: a=1; theme=dark'))).body, /; theme=dark/);
});

for (const line of ['X_Host: evil.test', 'X_HTTP_Method_Override: EVIL', 'X_Method-Override: EVIL', 'X.Override.URL: /evil'])
  test(`a request with ${line} does not decide what others get, though its name is spelled like a variable`, async () => {
    using upstream = await UpstreamFixture.serving(echo);
    using proxy = await caching(upstream);
    await proxy.request(asking('/', line));
    assert.doesNotMatch((await proxy.request(get('/'))).body, /evil/i);
  });

test('a condition whose name is spelled like a variable does not validate what is stored', async () => {
  using upstream = await UpstreamFixture.serving(({ head }: Message) =>
    /if.none.match: \*/i.test(head)
      ? `HTTP/1.1 304 Not Modified\r\n${FRESH}\r\n`
      : ok(`v${upstream.requests.length}`, `${FRESH}ETag: "1"\r\n`),
  );
  using proxy = await caching(upstream);
  assert.equal((await proxy.request(get('/'))).body, 'v1');
  proxy.clock.pass(61_000);
  await proxy.request(asking('/', 'If_None_Match: *'));
  assert.notEqual((await proxy.request(get('/'))).body, 'v1');
});
