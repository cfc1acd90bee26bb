import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { credentials, ServerCredentials, status } from '@grpc/grpc-js';
import { CertificatesFixture } from '../../dataplane/traffic/testing/certificates.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { Greeter, GreeterClient, METHODS } from '../testing/greeter.ts';
import { freePort } from '../testing/ports.ts';

const folder = new Folder();
const authority = new CertificatesFixture();
const shown = authority.issue('grpc.test', 'limited.test', 'gone.test', 'secure.test');
const own = authority.issue('grpc.test', 'secure.test');
let httpsPort: number;
let dataplane: Dataplane;
let greeter: Greeter;
let secureGreeter: Greeter;

before(async () => {
  httpsPort = await freePort();
  const secure = ServerCredentials.createSsl(null, [{ private_key: Buffer.from(own.key), cert_chain: Buffer.from(own.cert) }]);
  [greeter, secureGreeter] = await Promise.all([Greeter.start(), Greeter.start(secure)]);
  dataplane = await Dataplane.start({
    stateDir: folder.file('state'),
    flags: ['--cert-dir', folder.file('certs'), '--https-port', `${httpsPort}`],
  });
  const transport = { protocol: 'h2c' };
  // Clients without TLS must not be redirected to HTTPS, although there is a certificate.
  await dataplane.route('grpc.test', greeter.address, { transport, hold_secs: 0, https: 'off' });
  await dataplane.route('limited.test', greeter.address, { transport, rate_limit_rps: 1, https: 'off' });
  await dataplane.route('secure.test', secureGreeter.address, { tls: true, transport: { protocol: 'h2', ca: authority.ca } });
  const domains = ['grpc.test', 'limited.test', 'secure.test', 'gone.test'];
  const posted = await dataplane.admin('POST', '/certificates', { domains, certificate: shown.cert, private_key: shown.key });
  assert.equal(posted.status, 201, posted.text);
});

after(async () => {
  await dataplane[Symbol.asyncDispose]();
  greeter[Symbol.dispose]();
  secureGreeter[Symbol.dispose]();
  folder[Symbol.dispose]();
});

const clear = (host: string) =>
  new GreeterClient(`127.0.0.1:${dataplane.httpPort}`, credentials.createInsecure(), { 'grpc.default_authority': host });
const secured = (host: string) =>
  new GreeterClient(`127.0.0.1:${httpsPort}`, credentials.createSsl(Buffer.from(authority.ca)), {
    'grpc.ssl_target_name_override': host,
    'grpc.default_authority': host,
  });

for (const [way, connect, host] of [
  ['without TLS on either side', clear, 'grpc.test'],
  ['over TLS to the proxy', secured, 'grpc.test'],
  ['over TLS on both sides', secured, 'secure.test'],
] as const)
  describe(`gRPC ${way}`, () => {
    let client: GreeterClient;
    before(() => {
      client = connect(host);
    });
    after(() => client[Symbol.dispose]());

    test('unary calls work, even with a large message', async () => {
      assert.equal(String(await client.unary(METHODS.echo, 'hello')), 'hello');
      const large = randomBytes(5_000_000);
      assert.equal(large.equals(await client.unary(METHODS.echo, large)), true);
    });

    test('an error arrives with its status and message', async () => {
      await assert.rejects(client.unary(METHODS.fail, ''), { code: status.NOT_FOUND, details: 'no such greeting: ü' });
    });

    test('an unknown method is reported as unimplemented', async () => {
      const none = { ...METHODS.echo, path: '/greeter.Greeter/None' };
      await assert.rejects(client.unary(none, ''), { code: status.UNIMPLEMENTED });
    });

    test('server streaming works', async () => {
      const got: string[] = [];
      for await (const message of client.serverStream(METHODS.count, '100')) got.push(String(message));
      assert.deepEqual(
        got,
        Array.from({ length: 100 }, (_, index) => `${index + 1}`),
      );
    });

    test('client streaming works', async () => {
      const messages = Array.from({ length: 100 }, (_, index) => `${index},`);
      assert.equal(String(await client.clientStream(METHODS.join, messages)), messages.join(''));
    });

    test('bidirectional streaming delivers each message immediately', async () => {
      const call = client.duplex(METHODS.chat);
      for (const word of ['one', 'two', 'three']) {
        call.write(Buffer.from(word));
        assert.equal(String((await once(call, 'data'))[0]), `re: ${word}`);
      }
      call.end();
      const [{ code }] = (await once(call.resume(), 'status')) as [{ code: number }];
      assert.equal(code, status.OK);
    });

    test('an expired deadline ends the call on both sides', async () => {
      const service = host === 'secure.test' ? secureGreeter : greeter;
      const { cancelled, calls } = service;
      // On a busy machine, a short deadline may expire before the service has the call.
      for (let ms = 300; service.calls === calls; ms *= 2)
        await assert.rejects(client.unary(METHODS.wait, '', new Date(Date.now() + ms)), { code: status.DEADLINE_EXCEEDED });
      await until('the service to be notified', () => service.cancelled > cancelled);
    });
  });

test('a call cancelled by the client is cancelled at the service', async () => {
  using client = clear('grpc.test');
  const call = client.duplex(METHODS.chat);
  call.write(Buffer.from('one'));
  await once(call, 'data');
  const upstreams = async () => JSON.parse((await dataplane.admin('GET', '/upstreams')).text) as { in_flight: number }[];
  assert.equal(
    (await upstreams()).reduce((sum, { in_flight: count }) => sum + count, 0),
    1,
  );
  call.on('error', () => undefined);
  call.cancel();
  await until('no request to be in flight', async () => (await upstreams()).every(({ in_flight: count }) => count === 0));
});

test('a service that dies during a call is reported as unavailable', async () => {
  const mortal = await Greeter.start();
  await dataplane.route('gone.test', mortal.address, { transport: { protocol: 'h2c' }, https: 'off' });
  using client = clear('gone.test');
  const call = client.serverStream(METHODS.count, '5000');
  await once(call, 'data');
  const failed = once(
    call.on('data', () => undefined),
    'error',
  );
  mortal.kill();
  const [error] = (await failed) as [{ code: number }];
  assert.ok([status.UNAVAILABLE, status.INTERNAL, status.UNKNOWN, status.CANCELLED].includes(error.code), `${error.code}`);
  await assert.rejects(client.unary(METHODS.echo, ''), { code: status.UNAVAILABLE });
});

test('responses of the proxy itself are mapped to gRPC statuses', async () => {
  using nowhere = clear('nowhere.test');
  await assert.rejects(nowhere.unary(METHODS.echo, ''), { code: status.UNIMPLEMENTED });
  using limited = clear('limited.test');
  const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => limited.unary(METHODS.echo, '')));
  const codes = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? status.OK : outcome.reason.code));
  assert.ok(codes.includes(status.UNAVAILABLE) && codes.every((code) => code === status.OK || code === status.UNAVAILABLE), `${codes}`);
});
