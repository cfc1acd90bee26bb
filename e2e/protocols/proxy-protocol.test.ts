import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { missing, NGINX_STREAM } from '../components.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';
import { Program, run } from '../testing/process.ts';
import { exchange } from '../testing/raw.ts';
import { Upstream } from '../testing/upstream.ts';

/** A client address on loopback that differs from that of the proxy in front. */
const CLIENT = '127.0.0.77';

type Seen = { readonly headers: Readonly<Record<string, string>> };

/** A GET from `CLIENT`, as seen by the upstream. */
function ask(port: number, headers: Readonly<Record<string, string>> = {}): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const call = request({ host: '127.0.0.1', port, localAddress: CLIENT, headers: { host: 'a.test', ...headers }, agent: false });
    call.on('error', reject).on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', () => (response.statusCode === 200 ? resolve(JSON.parse(text) as Seen) : reject(new Error(text))));
    });
    call.end();
  });
}

/** A program that listens on `port` once it has started. */
async function reached(program: Program, port: number): Promise<Program> {
  await until('the proxy before ours', () => {
    if (program.exit !== null) throw new Error(program.output);
    return ask(port);
  });
  return program;
}

describe('behind a proxy with the PROXY protocol', () => {
  const folder = new Folder();
  let upstream: Upstream;
  let dataplane: Dataplane;

  before(async () => {
    upstream = await Upstream.start('app');
    dataplane = await Dataplane.start({ stateDir: folder.path, flags: ['--proxy-protocol', '--trusted-proxies', '127.0.0.1'] });
    await dataplane.route('a.test', upstream.address);
  });
  after(async () => {
    await dataplane[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const metric = async (name: string): Promise<number> => {
    const { text } = await dataplane.admin('GET', '/metrics');
    return Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.slice(name.length + 1),
    );
  };

  for (const version of ['send-proxy', 'send-proxy-v2', 'send-proxy-v2 proxy-v2-options crc32c,unique-id']) {
    test(`with HAProxy's ${version} the client address is the visitor's, and its health checks are not errors`, {
      skip: missing('haproxy'),
    }, async () => {
      const port = await freePort();
      const config = folder.file('haproxy.cfg');
      writeFileSync(
        config,
        `defaults
  mode tcp
  timeout connect 5s
  timeout client 5s
  timeout server 5s
listen in
  bind 127.0.0.1:${port}
  unique-id-format %{+X}o\\ %ci:%cp
  server one 127.0.0.1:${dataplane.httpPort} ${version} check check-send-proxy inter 200ms
`,
      );
      await using _haproxy = await reached(new Program('haproxy', ['-db', '-f', config]), port);
      const refused = await metric('sluice_connections_refused_total{reason="proxy_header"}');
      const seen = await ask(port, { 'x-forwarded-for': '203.0.113.1' });
      assert.deepEqual([seen.headers['x-real-ip'], seen.headers['x-forwarded-for']], [CLIENT, CLIENT]);
      assert.equal(await metric('sluice_connections_refused_total{reason="proxy_header"}'), refused);
    });
  }

  test("with nginx's proxy_protocol the client address is the visitor's", {
    skip: missing('nginx') ?? missing('nginxStream'),
  }, async () => {
    const port = await freePort();
    const config = folder.file('nginx.conf');
    writeFileSync(
      config,
      `load_module ${NGINX_STREAM};
daemon off;
pid ${folder.file('nginx.pid')};
error_log stderr;
events {}
stream { server { listen 127.0.0.1:${port}; proxy_pass 127.0.0.1:${dataplane.httpPort}; proxy_protocol on; } }
`,
    );
    await using _nginx = await reached(new Program('/usr/sbin/nginx', ['-c', config]), port);
    const seen = await ask(port);
    assert.deepEqual([seen.headers['x-real-ip'], seen.headers['x-forwarded-for']], [CLIENT, CLIENT]);
  });

  test('a connection without a PROXY header is closed and counted', async () => {
    const name = 'sluice_connections_refused_total{reason="proxy_header"}';
    const refused = await metric(name);
    assert.equal(await exchange(dataplane.httpPort, 'GET / HTTP/1.1\r\nHost: a.test\r\n\r\n'), '');
    assert.equal(await metric(name), refused + 1);
  });

  test('a PROXY header from an untrusted address is rejected and counted', async () => {
    await assert.rejects(ask(dataplane.httpPort));
    assert.equal(await metric('sluice_connections_refused_total{reason="untrusted_proxy"}'), 1);
  });
});

test('without trusted proxies the data plane does not start, and names the flag it needs', async () => {
  using folder = new Folder();
  const args = ['--proxy-protocol', '--http-port', `${await freePort()}`, '--admin-listen', `127.0.0.1:${await freePort()}`];
  const { code, stderr } = await run(['dataplane', '--state-dir', folder.path, ...args]);
  assert.equal(code, 2);
  assert.match(stderr, /^sluice dataplane: --proxy-protocol needs trusted proxies.*--trusted-proxies.*\n$/);
});
