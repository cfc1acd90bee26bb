import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder, frame, NDJSON, TOKEN } from '../testing/dataplane.ts';
import { type Answer, visit } from '../testing/http.ts';
import { getSecurely } from '../testing/internal-scene.ts';
import { Pair } from '../testing/pair.ts';
import { freePort, usedBy } from '../testing/ports.ts';
import { Program, run, SLUICE } from '../testing/process.ts';
import { RawClient } from '../testing/raw.ts';
import { Upstream } from '../testing/upstream.ts';

const [HTTP, OTHER_HTTP, HTTPS, OTHER_HTTPS] = [await freePort(), await freePort(), await freePort(), await freePort()];
const globals = (http: string, https: string) => `{\n  bind 127.0.0.1\n  http_port ${http}\n  https_port ${https}\n  local_certs\n}\n`;
const ALL = globals(`${HTTP} ${OTHER_HTTP}`, `${HTTPS} ${OTHER_HTTPS}`);

const SITES = `
app.test {
  @operators port ${OTHER_HTTPS}
  handle @operators {
    respond "operators"
  }
  respond "app"
}

admin.test:${OTHER_HTTPS} {
  respond "admin"
}

status.test:${OTHER_HTTP}, status.test:${OTHER_HTTPS} {
  respond "status"
}

:${OTHER_HTTP} {
  respond "any host"
}
`;

const rootOf = (folder: Folder): string => readFileSync(folder.file('state/sluice-internal-root.crt'), 'utf8');

/** The status and the body over HTTP/2 with TLS. */
async function overHttp2(port: number, name: string, root: string, authority = name): Promise<string> {
  const session = connectHttp2(`https://${name}:${port}`, { ca: root, host: '127.0.0.1' });
  try {
    const failed = once(session, 'error').then(([error]) => Promise.reject(error));
    const stream = session.request({ ':path': '/', ':authority': authority });
    stream.on('error', () => undefined);
    const [headers] = (await Promise.race([once(stream, 'response'), failed])) as [IncomingHttpHeaders & { ':status'?: number }];
    let body = '';
    for await (const piece of stream.setEncoding('utf8')) body += piece;
    return `${headers[':status']} ${body}`;
  } finally {
    session.destroy();
  }
}

/** The same over HTTP/1.1. */
async function overHttp1(port: number, name: string, root: string, host = name): Promise<string> {
  const text = await getSecurely(port, name, root, host);
  return `${text.slice(9, 12)} ${text.slice(text.indexOf('\r\n\r\n') + 4)}`;
}

const told = ({ status, text }: Answer): string => (status === 200 ? text : `${status}`);

describe('the ports of a file', () => {
  const folder = new Folder();
  let pair: Pair;
  before(async () => {
    pair = await Pair.start(folder, SITES, { globals: ALL });
  });
  after(async () => {
    await pair?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('sites are served on the ports that the file says, over HTTP/1.1 and HTTP/2, regardless of what a request says about its port', async () => {
    await pair.serve(SITES);
    await until('the redirect', async () => (await visit(HTTP, 'app.test')).status === 308);
    const root = rootOf(folder);
    for (const secure of [overHttp1, overHttp2]) {
      const name = secure.name;
      assert.equal(await until('the certificate', () => secure(HTTPS, 'app.test', root).catch(() => undefined)), '200 app', name);
      assert.equal(await secure(OTHER_HTTPS, 'app.test', root), '200 operators', name);
      assert.equal(await secure(OTHER_HTTPS, 'admin.test', root), '200 admin', name);
      assert.equal(await secure(OTHER_HTTPS, 'status.test', root), '200 status', name);
      assert.equal(
        await secure(HTTPS, 'app.test', root, `app.test:${OTHER_HTTPS}`),
        '200 app',
        `${name}: the authority names another port`,
      );
      for (const host of ['admin.test', 'status.test', 'unknown.test'])
        await assert.rejects(secure(HTTPS, host, root), /unrecognized name/i, `${name}: ${host}`);
    }
    assert.equal((await visit(HTTP, 'app.test', '/x')).headers.location, `https://app.test:${HTTPS}/x`);
    assert.equal((await visit(OTHER_HTTP, 'status.test', '/x')).headers.location, `https://status.test:${OTHER_HTTPS}/x`);
    assert.equal(told(await visit(OTHER_HTTP, 'unknown.test')), 'any host');
    assert.equal(told(await visit(OTHER_HTTP, 'admin.test')), 'any host');
    for (const host of ['unknown.test', 'admin.test', `status.test:${OTHER_HTTP}`, `admin.test:${OTHER_HTTPS}`])
      assert.equal(told(await visit(HTTP, host)), '404', host);
    // An unknown host and one that is served elsewhere can't be told apart.
    const [unknown, elsewhere] = [await visit(HTTP, 'unknown.test'), await visit(HTTP, 'admin.test')];
    assert.deepEqual([elsewhere.status, elsewhere.text], [unknown.status, unknown.text]);

    const routes = JSON.parse((await pair.admin('/routes?view=full')).text) as { domain: string; ports?: number[]; https: string }[];
    assert.deepEqual(
      routes.filter(({ domain }) => !domain.startsWith('served')).map(({ domain, ports, https }) => [domain, ports, https]),
      [
        ['*', [OTHER_HTTP], 'off'],
        ['admin.test', [OTHER_HTTPS], 'auto'],
        ['app.test', undefined, 'auto'],
        ['status.test', [OTHER_HTTP, OTHER_HTTPS], 'auto'],
      ],
    );
    const explained = await pair.command('explain', `https://app.test:${OTHER_HTTPS}/`);
    assert.match(explained.stdout, new RegExp(`port +${OTHER_HTTPS} \\(HTTPS\\)\n +block +handle @operators`));
    const absent = await pair.command('explain', `https://admin.test:${HTTPS}/`);
    assert.equal(absent.code, 1);
    assert.match(absent.stdout, new RegExp(`404: admin\\.test is not served on port ${HTTPS}, only on ${OTHER_HTTPS}`));
  });

  test('broken, slow and mixed traffic on one port leaves the others alone', async () => {
    await pair.serve(SITES);
    await until('the certificate', () => overHttp1(OTHER_HTTPS, 'admin.test', rootOf(folder)).catch(() => undefined));
    using slow = await RawClient.open(OTHER_HTTP);
    await slow.write('GET / HTTP/1.1\r\nHost: any');
    const garbage = [
      'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\x00',
      `GET / HTTP/1.1\r\nHost: ${'a'.repeat(20_000)}\r\n\r\n`,
    ];
    const broken = await Promise.all(
      garbage.flatMap((text) =>
        [HTTP, OTHER_HTTP, HTTPS, OTHER_HTTPS].map((port) => RawClient.open(port).then((client) => client.write(text))),
      ),
    );
    const cut = await Promise.all(Array.from({ length: 20 }, () => RawClient.open(OTHER_HTTPS)));
    for (const client of cut) client.socket.resetAndDestroy();
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, at) =>
        at % 2 === 0 ? visit(OTHER_HTTP, `host-${at}.test`).then(told) : overHttp2(OTHER_HTTPS, 'admin.test', rootOf(folder)),
      ),
    );
    assert.deepEqual(new Set(answers), new Set(['any host', '200 admin']));
    assert.match(await slow.write('.test\r\n\r\n').sees('any host'), / 200 /);
    for (const client of broken) client.socket.destroy();
  });

  test('saving the file adds and removes ports without a lost request, and a port that is taken changes none', async () => {
    const site = '* {\n  respond "here"\n}\n';
    await pair.serve(site, globals(`${HTTP}`, `${HTTPS}`));
    const save = (http: string) => pair.write(site, globals(http, `${HTTPS}`));
    const isOpen = (port: number) => visit(port, 'a.test').then(told, () => null);
    await until('one port to be left', async () => (await isOpen(OTHER_HTTP)) === null);
    save(`${HTTP} ${OTHER_HTTP}`);
    await until('the added port', async () => {
      assert.equal(await isOpen(HTTP), 'here');
      return (await isOpen(OTHER_HTTP)) === 'here';
    });
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    save(`${HTTP} ${port}`);
    await until('status to name the port', async () => (await pair.admin('/status')).text.includes('but stays'));
    const warned = (await pair.command('status')).stdout;
    assert.ok(
      warned.includes(
        `http_port is ${HTTP} ${port} in the config file, but stays ${HTTP} ${OTHER_HTTP}: port ${port}: the address is already in use`,
      ),
      warned,
    );
    assert.deepEqual([await isOpen(HTTP), await isOpen(OTHER_HTTP)], ['here', 'here']);
    taken.close();
    save(`${OTHER_HTTP}`);
    await until('the removed port to close', async () => {
      assert.equal(await isOpen(OTHER_HTTP), 'here');
      return (await isOpen(HTTP)) === null;
    });
  });
});

test('a start with a port that is taken ends, naming it; a takeover keeps every port', async () => {
  using folder = new Folder();
  const flags = ['--http-port', `${OTHER_HTTP}`];
  await using upstream = await Upstream.start('one', (_, response) => response.end('one'));
  await using dataplane = await Dataplane.start({ stateDir: folder.file('state'), httpPort: HTTP, flags });
  await dataplane.route('a.test', upstream.address, { ports: [OTHER_HTTP] });
  const common = ['--bind', '127.0.0.1', '--admin-listen', `127.0.0.1:${await freePort()}`];
  const second = await run([
    'dataplane',
    '--http-port',
    `${await freePort()},${OTHER_HTTP}`,
    ...common,
    '--state-dir',
    folder.file('other'),
  ]);
  assert.equal(second.code, 2);
  const holder = usedBy('\\d+').replace(/[()]/g, '\\$&');
  assert.match(
    second.stderr,
    new RegExp(
      `^sluice dataplane: can't listen on ${OTHER_HTTP}: the address is already in use${holder}; name another with --http-port\n$`,
    ),
  );
  const successor = [
    'dataplane',
    '--http-port',
    `${HTTP},${OTHER_HTTP}`,
    '--bind',
    '127.0.0.1',
    '--admin-listen',
    `127.0.0.1:${dataplane.adminPort}`,
  ];
  await using next = new Program(SLUICE, [...successor, '--state-dir', folder.file('state'), '--workers', '2', '--takeover'], {
    SLUICE_ADMIN_TOKEN: TOKEN,
  });
  await next.said('data plane started');
  for (let asked = 0; dataplane.program.exit === null; asked++) {
    assert.equal(told(await visit(OTHER_HTTP, 'a.test')), 'one');
    assert.ok(asked < 100_000, 'the old process never ends');
  }
  assert.deepEqual([told(await visit(OTHER_HTTP, 'a.test')), told(await visit(HTTP, 'a.test'))], ['one', '404']);
  await dataplane.route('lost.test', upstream.address, { ports: [1] });
  assert.match(
    (await dataplane.admin('GET', '/alerts')).text,
    /the site lost\.test is not served, because nothing listens on the ports given for it: 1/,
  );
});

test('a wildcard for several labels is only accepted in an apply stream, survives a restart, and gives way to more specific routes', async () => {
  using folder = new Folder();
  await using upstream = await Upstream.start('one', (_, response) => response.end('deep'));
  const site = (domain: string, more: object = {}) => ({ domain, upstream: null, respond: { status: 200, body: domain }, ...more });
  const lines = frame(1, [
    site('*.a.test', { wildcard: 'many', upstream: upstream.address, respond: null }),
    site('*.b.a.test'),
    site('x.c.a.test'),
  ]);
  const told3 = async (dataplane: Dataplane) =>
    Promise.all(
      ['x.a.test', 'x.y.a.test', 'x.b.a.test', 'x.y.b.a.test', 'x.c.a.test', 'a.test'].map(async (host) =>
        told(await dataplane.visit(host)),
      ),
    );
  const expected = ['deep', 'deep', '*.b.a.test', 'deep', 'x.c.a.test', '404'];
  {
    await using dataplane = await Dataplane.start({ stateDir: folder.path });
    const posted = await dataplane.admin('POST', '/routes', {
      domain: '*.a.test',
      upstream: upstream.address,
      tls: false,
      wildcard: 'many',
    });
    assert.deepEqual(
      [posted.status, posted.text],
      [400, '{"error":"invalid JSON: wildcard: &quot;many&quot; is only accepted in an apply stream"}'],
    );
    assert.equal((await dataplane.admin('POST', '/routes', lines, NDJSON)).status, 200);
    assert.deepEqual(await told3(dataplane), expected);
    await dataplane.program.kill('SIGTERM');
  }
  await using dataplane = await Dataplane.start({ stateDir: folder.path });
  assert.deepEqual(await told3(dataplane), expected);
  const explained = JSON.parse((await dataplane.admin('GET', '/explain?url=https://x.y.a.test')).text) as {
    matched: string;
    certificate: string;
  };
  assert.deepEqual(
    [explained.matched, explained.certificate],
    ['*.a.test', 'none: a certificate for *.a.test is for exactly one label, not for x.y.a.test'],
  );
  // A posted route of the same domain has the published meaning.
  await dataplane.route('*.a.test', upstream.address);
  assert.deepEqual((await told3(dataplane)).slice(0, 2), ['deep', '404']);
});

test('an upstream’s own ACME client is asked for its tokens over plain HTTP, while everything else is redirected', async () => {
  using folder = new Folder();
  await using upstream = await Upstream.start('app', (request, response) => response.end(`token for ${request.url}`));
  await using dataplane = await Dataplane.start({ stateDir: folder.path, flags: ['--https-port', `${HTTPS}`, '--local-certs'] });
  await dataplane.route('a.test', upstream.address);
  await until('the redirect', async () => (await dataplane.visit('a.test')).status === 308);
  const path = '/.well-known/acme-challenge/Tok_en-1';
  assert.equal((await dataplane.visit('a.test', path)).text, `token for ${path}`);
  for (const other of ['/.well-known/acme-challenge/a/../../x', '/.well-known/acme-challenge/a%2f', '/.well-known/x'])
    assert.equal((await dataplane.visit('a.test', other)).status, 308, other);
  assert.equal((await dataplane.visit('unknown.test', path)).status, 404);
});
