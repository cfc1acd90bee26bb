import assert from 'node:assert/strict';
import dns from 'node:dns';
import { createServer as createSecureServer } from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import net, { type AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { CertificatesFixture } from '../../testing/certificates.ts';
import { Http2UpstreamFixture } from '../../testing/http2/upstream.ts';
import { get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

type Found = (error: null, addresses: readonly { address: string; family: number }[]) => void;

/** Its targets listen at the second of these. */
const ADDRESSES = [
  { address: '::1', family: 6 },
  { address: '127.0.0.99', family: 4 },
  { address: '127.0.0.1', family: 4 },
];
const { lookup } = dns;

before(() => {
  const answer = (host: string, options: object, then: Found): void =>
    host === 'app.test' ? process.nextTick(then, null, ADDRESSES) : Reflect.apply(lookup, dns, [host, options, then]);
  Object.assign(dns, { lookup: answer });
  syncBuiltinESMExports();
});
after(() => {
  Object.assign(dns, { lookup });
  syncBuiltinESMExports();
});

const named = ({ address }: { readonly address: string }) => ({ address: `app.test:${address.split(':')[1]}` });

async function served(proxy: ProxyFixture, fields = ''): Promise<void> {
  const lines: string[] = [];
  for (let nth = 0; nth < 6; nth++) lines.push((await proxy.request(get('/', fields))).line);
  assert.deepEqual(new Set(lines), new Set(['HTTP/1.1 200 OK']));
  assert.deepEqual(proxy.targetChanges(), []);
}

for (const [kind, fields] of [
  ['a request', ''],
  ['an upgrade', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'],
] as const)
  test(`${kind} is answered if only one of several addresses of its target accepts connections`, async () => {
    using upstream = await UpstreamFixture.serving(ok('x', 'Connection: close\r\n'));
    using proxy = await ProxyFixture.start([site('a.test', named(upstream))]);
    await served(proxy, fields);
  });

test('a request over TLS is answered if only one of several addresses of its target accepts connections', async () => {
  const certificates = new CertificatesFixture();
  const server = createSecureServer(certificates.issue('a.test'), (_, response) =>
    response.writeHead(200, { connection: 'close' }).end('x'),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const target = named({ address: `127.0.0.1:${(server.address() as AddressInfo).port}` });
  const transport = { ca: certificates.ca, server_name: 'a.test' };
  using proxy = await ProxyFixture.start([{ ...site('a.test', target), tls: true, transport }]);
  await served(proxy);
  server.close();
});

test('a request over HTTP/2 is answered if only one of several addresses of its target accepts connections', async () => {
  using upstream = await Http2UpstreamFixture.serving(({ stream }) => {
    stream.respond({ ':status': 200 });
    stream.end('x', () => stream.session?.close());
  });
  using proxy = await ProxyFixture.start([{ ...site('a.test', named(upstream)), transport: { protocol: 'h2c' } }]);
  await served(proxy);
});

test('a target at none of whose addresses anything listens has refused the connection', async () => {
  // No other process gets this port while the test runs, as it would one that the system chooses.
  using proxy = await ProxyFixture.start([site('a.test', { address: 'app.test:1' })]);
  assert.match((await proxy.request(get())).line, / 502 /);
  proxy.counted();
  const failures = proxy.messages
    .flatMap((message) => (message.kind === 'report' ? message.report.domains : []))
    .flatMap((one) => one.failures);
  assert.deepEqual(failures, [['refused', 1]]);
});

test('each of many addresses has the time of a round trip to another continent', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  const { connect } = net;
  const times: unknown[] = [];
  const noted = (...args: unknown[]): unknown => {
    const [options] = args;
    if (typeof options === 'object' && options !== null && 'autoSelectFamilyAttemptTimeout' in options)
      times.push(options.autoSelectFamilyAttemptTimeout);
    return Reflect.apply(connect, net, args);
  };
  const few = [...ADDRESSES];
  ADDRESSES.push(...Array.from({ length: 97 }, (_, nth) => ({ address: `127.0.0.${nth + 100}`, family: 4 })));
  Object.assign(net, { connect: noted });
  syncBuiltinESMExports();
  try {
    using proxy = await ProxyFixture.start([site('a.test', named(upstream))]);
    assert.match((await proxy.request(get())).line, / 200 /);
  } finally {
    Object.assign(net, { connect });
    syncBuiltinESMExports();
    ADDRESSES.splice(0, ADDRESSES.length, ...few);
  }
  assert.deepEqual(times, [300]);
});
