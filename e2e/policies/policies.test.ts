import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { visitOverHttp2 } from '../testing/http2.ts';
import { Pair } from '../testing/pair.ts';
import { Upstream } from '../testing/upstream.ts';

describe('policies of a Sluicefile', () => {
  const folder = new Folder();
  let pair: Pair;
  before(async () => {
    pair = await Pair.start(folder, '');
  });
  after(async () => {
    await pair?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('blocks, headers, redirects and responses of a Sluicefile work', async () => {
    writeFileSync(folder.file('closed.html'), '<h1>{err.status_code}: closed</h1>');
    await using site = await Upstream.start('site', (request, response) => {
      response.setHeader('x-frame-options', 'DENY');
      response.setHeader('x-from', 'upstream');
      response.end(`site ${request.url}`);
    });
    await using api = await Upstream.start('api', (request, response) => response.end(`api ${request.url}`));
    await pair.serve(
      `app.test, www.app.test {
  reverse_proxy ${site.address}
  header X-From sluice
  header -X-Content-Type-Options
  request_body max_size 1kb
  encode br gzip {
    minimum_length 1
  }
  cors https://front.test
  redir /old/* /new/{remainder}?{query} 308
  redir /moved https://other.test/ 301
  handle_path /api/* {
    reverse_proxy ${api.address}
    header X-Block api
  }
  handle /fixed {
    respond "fixed" 201
  }
}
*.wild.test {
  respond "wild"
}
closed.test {
  @visitors not remote_ip 192.0.2.1
  maintenance @visitors on {
    retry_after 10m
  }
  handle_errors 5xx {
    page closed.html
  }
  reverse_proxy ${site.address}
}
`,
    );
    const plain = await pair.visit('app.test', '/page?x=1');
    assert.equal(plain.text, 'site /page?x=1');
    assert.equal(plain.headers['x-from'], 'sluice', 'a header of the site wins over the upstream’s');
    assert.equal(plain.headers['x-frame-options'], 'DENY', 'the upstream’s own value wins over the default');
    assert.equal(plain.headers['x-content-type-options'], undefined, 'a default header can be removed');
    const crossing = await pair.visit('app.test', '/page', { headers: { origin: 'https://front.test' } });
    assert.equal(crossing.headers['access-control-allow-origin'], 'https://front.test');
    assert.equal((await pair.visit('app.test', '/upload', { method: 'POST', body: 'x'.repeat(1_025) })).status, 413);
    assert.equal(plain.headers['strict-transport-security'], undefined, 'it is never sent over HTTP');

    const coded = await pair.visit('app.test', '/page', { headers: { 'accept-encoding': 'gzip, br;q=0.5' } });
    assert.deepEqual([coded.headers['content-encoding'], coded.headers.vary], [undefined, 'Origin'], 'the upstream names no type');
    const text = await pair.visit('app.test', '/fixed', { headers: { 'accept-encoding': 'gzip, br;q=0.5' } });
    assert.deepEqual([text.headers['content-encoding'], text.headers.vary], ['gzip', 'Origin, Accept-Encoding']);

    const block = await pair.visit('WWW.App.Test.', '/api/users?y=2');
    assert.equal(block.text, 'api /users?y=2');
    assert.equal(block.headers['x-block'], 'api');
    assert.equal(block.headers['x-from'], 'sluice');
    assert.equal(block.headers['x-frame-options'], 'SAMEORIGIN');
    assert.equal((await pair.visit('app.test', '/%61pi/%2Fz')).text, 'api /%2Fz', 'matched decoded, forwarded unchanged');
    assert.equal((await pair.visit('app.test', '/api')).text, 'site /api', '/api/* is not /api');

    const fixed = await pair.visit('app.test', '/fixed');
    assert.deepEqual([fixed.status, fixed.text], [201, 'fixed']);
    const moved = await pair.visit('app.test', '/old/a/b?c=d');
    assert.deepEqual([moved.status, moved.headers.location], [308, '/new/a/b?c=d']);
    assert.deepEqual([(await pair.visit('app.test', '/moved?q=1')).headers.location], ['https://other.test/']);
    assert.equal((await pair.visit('x.wild.test')).text, 'wild');
    const closed = await pair.visit('closed.test');
    assert.deepEqual([closed.status, closed.headers['retry-after'], closed.text], [503, '600', '<h1>503: closed</h1>']);
    for (const host of ['wild.test', 'x.y.wild.test', 'unknown.test']) assert.equal((await pair.visit(host)).status, 404, host);
  });

  test('placeholders and every form of header in a Sluicefile work over HTTP/1.1, and explain shows the values', async () => {
    await using upstream = await Upstream.start('site', (request, response) => {
      response.setHeader('x-debug-id', '7');
      response.setHeader('link', '</a.css>; rel=preload');
      response.setHeader('location', 'http://10.0.0.5/next');
      response.end(request.url);
    });
    await pair.serve(
      `values.test {
  reverse_proxy ${upstream.address}
  redir /to/* {scheme}://{labels.1}.{labels.0}/{remainder}?q={query.q} permanent
  redir /page /next html
  header {
    -X-Debug-*
    +Link "<{path}>; rel=canonical"
    ?Cache-Control no-cache
    >X-Status {resp.status_code}
    Location http://10.0.0.5 https://{host}
    X-Q {query.q}
    X-Literal "\\{host} {a: 1}"
  }
  handle /say/* {
    respond "{method} {remainder} for {header.X-Who}"
  }
}
`,
    );
    const { headers, text } = await pair.visit('values.test', '/page.html?q=a%20b');
    assert.equal(text, '/page.html?q=a%20b');
    assert.deepEqual(
      ['x-debug-id', 'cache-control', 'x-status', 'location', 'x-q', 'x-literal'].map((name) => headers[name]),
      [undefined, 'no-cache', '200', 'https://values.test/next', 'a b', '{host} {a: 1}'],
    );
    assert.equal(headers.link, '</a.css>; rel=preload, </page.html>; rel=canonical');
    assert.equal((await pair.visit('values.test', '/say/hello')).text, 'GET hello for ');
    const moved = await pair.visit('values.test', '/to/a/b?q=c%26d');
    assert.deepEqual([moved.status, moved.headers.location], [301, 'http://values.test/a/b?q=c%26d']);
    const page = await pair.visit('values.test', '/page');
    assert.equal(page.status, 200);
    assert.match(page.text, /<meta http-equiv="refresh" content="0; url='\/next'">/);
    assert.equal((await pair.visit('values.test', '/?q=%0d%0aSet-Cookie:%20a=b')).status, 400);
    const over2 = await visitOverHttp2(pair.httpPort, 'values.test', ['/page.html?q=a', '/?q=%00', '/?q=%0a', '/say/x']);
    assert.deepEqual(
      over2.map(([status, head]) => [status, head['x-q'], head['x-status'], head['x-debug-id']]),
      [
        [200, 'a', '200', undefined],
        [400, undefined, '400', undefined],
        [400, undefined, '400', undefined],
        [200, '', '200', undefined],
      ],
    );
    assert.match((await pair.command('explain', 'http://values.test/?q=x')).stdout, /header: X-Q: x/);
    assert.match((await pair.command('explain', 'http://values.test/?q=%0a')).stdout, /400: X-Q: a value made from the request/);
  });

  test('the upstream gets the request that a Sluicefile makes of it, and explain shows it', async () => {
    await using upstream = await Upstream.start('site', (request, response) => {
      const { method, url, headers } = request;
      response.end([method, url, headers.host, headers['x-user'] ?? '-', headers.cookie ?? '-', headers['x-forwarded-host']].join(' '));
    });
    await pair.serve(
      `requests.test {
  reverse_proxy ${upstream.address}
  request_header -Cookie
  request_header X-User {query.user}
  @search path /search
  method @search POST
  rewrite /blog/* /index.php?page={remainder}
  uri path_regexp /v(\\d+)/ /version-$1/
  handle_path /storage/* {
    request_header Host {upstream_hostport}
    rewrite * /bucket{uri}
  }
}
`,
    );
    for (const [path, got] of [
      ['/v2/x', 'GET /version-2/x requests.test  - requests.test'],
      ['/blog/a%20b?user=c', 'GET /index.php?page=a%20b requests.test c - requests.test'],
      ['/search?user=d', 'POST /search?user=d requests.test d - requests.test'],
      ['/storage/x/y?z', `GET /bucket/x/y?z ${upstream.address}  - requests.test`],
    ] as const)
      assert.equal((await pair.visit('requests.test', path, { headers: { cookie: 'a=b' } })).text, got, path);
    for (const path of ['/?user=a%0d%0aX-Admin:%201', '/storage/..%2f..%2fx', '/blog/x?user=%00'])
      assert.equal((await pair.visit('requests.test', path)).status, 400, path);
    const over2 = await visitOverHttp2(pair.httpPort, 'requests.test', ['/storage/x', '/blog/x?user=%0d', '/storage/%2e%2e%2fx']);
    assert.deepEqual(
      over2.map(([status, , text]) => (status === 200 ? text : status)),
      [`GET /bucket/x ${upstream.address}  - requests.test`, 400, 400],
    );
    const { stdout } = await pair.command('explain', 'http://requests.test/storage/x?user=e');
    for (const line of [
      'rewrite: /x?… becomes /bucket/x?…',
      'request_header: removes Cookie; X-User: e',
      'forwarded: GET /bucket/x?… with Host: the address of the target',
    ])
      assert.ok(stdout.includes(line), stdout);
  });

  test('ip_filter in a Sluicefile admits only the given ranges, and explain names the range', async () => {
    await using upstream = await Upstream.start('site');
    await pair.serve(
      `home.test {
  path_case sensitive
  ip_filter allow private_ranges
  reverse_proxy ${upstream.address}
  handle /away/* {
    ip_filter {
      allow 0.0.0.0/0
      deny private_ranges
    }
  }
}
`,
    );
    assert.equal((await pair.visit('home.test')).status, 200);
    assert.equal((await pair.visit('home.test', '/away/x')).status, 403);
    const explained = await pair.command('explain', 'http://home.test/away/x');
    assert.match(explained.stdout, /403: 127\.0\.0\.1 is in deny 127\.0\.0\.0\/8/);
  });

  test('an upstream is reached over TLS only with a valid certificate', async () => {
    await using upstream = await Upstream.start('plain');
    await pair.serve(`tls.test {
  reverse_proxy https://${upstream.address}
}
`);
    const answer = await pair.visit('tls.test');
    assert.equal(answer.status, 502);
    await pair.program.said(/"failure":"(tls|closed|unreachable)"/);
  });

  test('forward_auth asks the authentication server, over HTTP/1.1 and HTTP/2, and is closed when that is away', async () => {
    await using auth = await Upstream.start('auth', (request, response) => {
      const { cookie, 'x-forwarded-uri': uri, 'x-forwarded-method': method, 'x-proxy-key': key, host } = request.headers;
      if (key !== 'k3y' || host !== auth.address) response.writeHead(400).end('this is no question of the proxy');
      else if (cookie === 'session=bob') response.setHeader('Remote-User', `bob ${method} ${uri}`).end();
      else response.writeHead(302, { location: 'https://auth.test/login', 'set-cookie': 'csrf=1' }).end('log in');
    });
    await using app = await Upstream.start('app', (request, response) =>
      response.end(`user ${request.headers['remote-user']}${request.headers['x-proxy-key'] ?? ''}`),
    );
    await pair.serve(
      `app.test {
  path_case sensitive
  forward_auth ${auth.address} {
    uri /verify
    header_up X-Proxy-Key k3y
    header_up Host {upstream_hostport}
    copy_headers Remote-User
  }
  reverse_proxy ${app.address}
}
`,
    );
    const stranger = await pair.visit('app.test', '/x', { headers: { 'remote-user': 'admin' } });
    assert.deepEqual([stranger.status, stranger.text, stranger.headers.location], [302, 'log in', 'https://auth.test/login']);
    const known = { headers: { cookie: 'session=bob', 'remote-user': 'admin' } };
    assert.equal((await pair.visit('app.test', '/x?y=1', known)).text, 'user bob GET /x?y=1');
    const explained = await pair.command('explain', 'http://app.test/x');
    assert.match(explained.stdout, /forward_auth.*answers GET \/verify with 2xx; header_up changes X-Proxy-Key, Host/);
    const listing = await pair.admin('/routes?view=full');
    assert.match(listing.text, /"X-Proxy-Key","value":"\{redacted-[0-9a-f]{4}\}"/);
    assert.doesNotMatch(listing.text + explained.stdout, /k3y/);
    await auth[Symbol.asyncDispose]();
    assert.equal((await pair.visit('app.test', '/x', known)).status, 502);
  });

  test('jwt accepts tokens that the key of a file has signed, over HTTP/1.1 and HTTP/2, and follows changes of the file', async () => {
    const [first, second] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')];
    const save = ({ publicKey }: typeof first) => writeFileSync(folder.file('key.pem'), publicKey.export({ type: 'spki', format: 'pem' }));
    const tokenOf = ({ privateKey }: typeof first): string => {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const text = `${part({ alg: 'EdDSA' })}.${part({ exp: Math.floor(Date.now() / 1_000) + 3_600, sub: 'bob' })}`;
      return `${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`;
    };
    await using app = await Upstream.start('app', (request, response) => response.end(`user ${request.headers['x-user']}`));
    save(first);
    await pair.serve(
      `app.test {
  path_case sensitive
  jwt {
    keys key.pem
    copy_claims sub>X-User
    from header
    from query access_token
  }
  reverse_proxy ${app.address}
}
`,
    );
    const withToken = (token: string) => ({ headers: { authorization: `Bearer ${token}`, 'x-user': 'admin' } });
    const [old, next] = [tokenOf(first), tokenOf(second)];
    const stranger = await pair.visit('app.test', '/', { headers: { 'x-user': 'admin' } });
    assert.deepEqual([stranger.status, stranger.headers['www-authenticate']], [401, 'Bearer realm="app.test"']);
    assert.equal((await pair.visit('app.test', '/', withToken(old))).text, 'user bob');
    assert.equal((await pair.visit('app.test', '/', withToken(next))).status, 401);
    const over2 = await visitOverHttp2(pair.httpPort, 'app.test', [
      `/?access_token=${old}`,
      `/?access_token=${next}`,
      '/?access_token=%00',
    ]);
    assert.deepEqual(
      over2.map(([status, , text]) => (status === 200 ? text : status)),
      ['user bob', 401, 401],
    );
    const explained = await pair.command('explain', 'http://app.test/x');
    assert.match(explained.stdout, /jwt.*requires a token signed by one of 1 keys/);
    save(second);
    await until('the new key to be used', async () => (await pair.visit('app.test', '/', withToken(next))).status === 200);
    assert.equal((await pair.visit('app.test', '/', withToken(old))).status, 401);
  });
});

test('forwarding header fields from a trusted proxy are accepted', async () => {
  using folder = new Folder();
  await using upstream = await Upstream.start('echo');
  await using dataplane = await Dataplane.start({
    stateDir: folder.path,
    workers: 1,
    flags: ['--trusted-proxies', '127.0.0.1,10.0.0.0/8'],
  });
  await dataplane.route('a.test', upstream.address);
  const headers = { 'x-forwarded-for': '6.6.6.6, 203.0.113.9, 10.1.2.3', 'x-forwarded-proto': 'https', 'x-request-id': 'outer-1' };
  const seen = JSON.parse((await dataplane.visit('a.test', '/', { headers })).text) as { headers: Record<string, string> };
  assert.equal(seen.headers['x-real-ip'], '203.0.113.9');
  assert.equal(seen.headers['x-forwarded-for'], '6.6.6.6, 203.0.113.9, 10.1.2.3, 127.0.0.1');
  assert.equal(seen.headers['x-forwarded-proto'], 'https');
  assert.equal(seen.headers['x-request-id'], 'outer-1');
});
