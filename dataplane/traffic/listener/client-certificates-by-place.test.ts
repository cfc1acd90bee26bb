import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { type MadePair, makePair } from '../../../shared/certificates/testing/pairs.ts';
import type { RouteInput } from '../../../shared/route.ts';
import { freePorts } from '../testing/free-ports.ts';
import { get, ProxyFixture } from '../testing/proxy/test-proxy.ts';
import { Wire } from '../testing/wire.ts';

const [http, otherHttp, staffPort, otherPort] = await freePorts(4);
const NAMES = ['a.test', 'open.test'];
const shown = await makePair(NAMES);
const staff = await makePair([], { subject: 'CN=staff', authority: true });
const guests = await makePair([], { subject: 'CN=guests', authority: true });
const alice = await makePair([], { subject: 'CN=alice', signer: staff.signs });
const guest = await makePair([], { subject: 'CN=guest', signer: guests.signs });

/** At the address 127.0.0.2, in another spelling, it requires no certificates on the other port. */
const SITE: RouteInput = {
  ...{ domain: 'a.test', upstream: null, tls: false, https: 'provided', https_redirect: false, respond: { status: 200, body: 'inside' } },
  client_auth: { ca: guests.certificate },
  client_auth_at: [
    { ports: [staffPort], ca: staff.certificate },
    { ports: [otherPort], local_ips: ['::FFFF:127.0.0.2'], ca: null },
    { ports: [http], ca: null },
  ],
};
const { client_auth: _, client_auth_at: __, ...bare } = SITE;

let proxy: ProxyFixture;
before(async () => {
  proxy = await ProxyFixture.with([SITE, { ...bare, domain: 'open.test' }], {
    ...{ bind: null, httpPort: http, otherHttpPorts: [otherHttp], httpsPort: staffPort, otherHttpsPorts: [otherPort] },
  });
  await proxy.useTicketKeys(randomBytes(48));
  await proxy.certify({ domains: NAMES, certificate: shown.certificate, private_key: shown.privateKey });
});
after(() => proxy[Symbol.dispose]());

type Visit = { readonly address?: string; readonly shows?: MadePair; readonly session?: Buffer | undefined; readonly servername?: string };

function dial(port: number, { address = '127.0.0.1', shows, session, servername = 'a.test' }: Visit): TLSSocket {
  const own: ConnectionOptions = shows ? { cert: shows.certificate, key: shows.privateKey } : {};
  return connect({ host: address, port, servername, ca: shown.certificate, ...own, ...(session && { session }) });
}

/** The status of a response, or `refused`. */
async function told(port: number, visit: Visit = {}): Promise<string> {
  const socket = dial(port, visit);
  try {
    await once(socket, 'secureConnect');
    const wire = new Wire(socket);
    wire.send(get());
    return (await wire.readAnswer()).line.slice(9, 12);
  } catch {
    return 'refused';
  } finally {
    socket.destroy();
  }
}

test('a host requires at each port and address the client certificates that its first entry for that says', async () => {
  for (const [port, address, shows, expected] of [
    [staffPort, '127.0.0.1', undefined, 'refused'],
    [staffPort, '127.0.0.1', guest, 'refused'],
    [staffPort, '127.0.0.2', alice, '200'],
    [otherPort, '127.0.0.1', undefined, 'refused'],
    [otherPort, '127.0.0.1', alice, 'refused'],
    [otherPort, '127.0.0.1', guest, '200'],
    [otherPort, '127.0.0.2', undefined, '200'],
  ] as const)
    assert.equal(await told(port, { address, ...(shows && { shows }) }), expected, `${port} ${address} ${shows?.certificate}`);
});

test('without TLS it serves only the ports that require none', async () => {
  for (const [port, expected] of [
    [http, / 200 /],
    [otherHttp, / 403 /],
  ] as const)
    assert.match((await proxy.request(get(), port)).line, expected);
});

test('a connection for another host, and a session without a certificate, open none of its ports that require one', async () => {
  for (const port of [staffPort, otherPort]) assert.equal(await told(port, { servername: 'open.test' }), '421');
  const open = dial(otherPort, { address: '127.0.0.2' });
  const [session] = (await once(open, 'session')) as [Buffer];
  open.destroy();
  assert.equal(await told(otherPort, { address: '127.0.0.2', session }), '200');
  for (const port of [staffPort, otherPort]) assert.equal(await told(port, { session }), 'refused');
});
