import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cachingProxy } from '../../testing/proxy/caching-proxy.ts';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field, type Wire } from '../../testing/wire.ts';

const CHALLENGE = 'HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: NTLM c2VydmVy\r\nContent-Length: 0\r\n\r\n';
const BEGIN = 'Authorization: NTLM YmVnaW4=\r\n';
const PROVE = 'Authorization: NTLM YWxpY2U=\r\n';

/** An upstream that authenticates connections, as with Windows authentication (RFC 4559): it answers with the user of the connection. */
function windows(): Promise<UpstreamFixture> {
  const begun = new Set<Wire>();
  const users = new Map<Wire, string>();
  return UpstreamFixture.serving(({ head }, wire) => {
    const credentials = field(head, 'Authorization');
    if (credentials === 'NTLM YmVnaW4=') {
      begun.add(wire);
      return CHALLENGE;
    }
    if (credentials === 'NTLM YWxpY2U=' && begun.has(wire)) users.set(wire, 'alice');
    return ok(users.get(wire) ?? 'nobody');
  });
}

async function ask(client: Wire, fields = ''): Promise<string> {
  client.send(get('/', fields));
  const { line, body } = await client.readAnswer();
  return line.includes(' 401 ') ? '401' : body;
}

test('a connection on which a client has authenticated is used by no other client', async () => {
  using upstream = await windows();
  using proxy = await ProxyFixture.before(upstream);
  const [alice, mallory] = [await proxy.connect(), await proxy.connect()];
  assert.equal(await ask(mallory), 'nobody');
  assert.equal(await ask(alice, BEGIN), '401');
  assert.equal(await ask(mallory), 'nobody');
  assert.equal(await ask(alice, PROVE), 'alice');
  assert.equal(await ask(mallory), 'nobody');
  assert.equal(await ask(alice), 'alice');
  assert.equal(await ask(mallory), 'nobody');
});

test('it is closed once it has been idle, like any other', async () => {
  using upstream = await windows();
  using proxy = await ProxyFixture.before(upstream);
  const alice = await proxy.connect();
  assert.equal(await ask(alice, BEGIN), '401');
  assert.equal(await ask(alice, PROVE), 'alice');
  const [connection] = upstream.connections;
  assert.ok(connection !== undefined);
  proxy.clock.pass(5_000);
  await connection.until('its end', () => connection.ended || connection.closed);
  assert.equal(await ask(alice), 'nobody');
});

test('clients that authenticate on many connections keep at most a quarter of them from others, the newest', async () => {
  using upstream = await windows();
  using proxy = await ProxyFixture.with([site('a.test', upstream)], {}, { maxPerTarget: 8 });
  const clients = await Promise.all(Array.from({ length: 8 }, () => proxy.connect()));
  for (const client of clients) assert.equal(await ask(client, BEGIN), '401');
  await eventually('the oldest connections to be closed', () => proxy.ledger.connections.sockets() - proxy.ledger.connections.open() === 2);
  for (const client of clients.slice(-2)) assert.equal(await ask(client, PROVE), 'alice');
  assert.equal(await ask(clients[0] as Wire, PROVE), 'nobody');
});

test('it does not say how long a target keeps idle connections, because its client may use it at any time', async () => {
  using upstream = await windows();
  using proxy = await ProxyFixture.before(upstream);
  const [alice, other] = [await proxy.connect(), await proxy.connect()];
  assert.equal(await ask(other), 'nobody');
  const [first] = upstream.connections;
  assert.ok(first !== undefined);
  proxy.clock.pass(2_000);
  first.end();
  await first.until('its end', () => first.ended || first.closed);
  // From now on connections are given up before they have been idle for 2 s.
  for (let times = 0; times < 2; times++) {
    assert.equal(await ask(alice, BEGIN), '401');
    proxy.clock.pass(1_600);
  }
  assert.equal(await ask(other), 'nobody');
  const before = upstream.connections.length;
  proxy.clock.pass(1_800);
  assert.equal(await ask(other), 'nobody');
  assert.equal(upstream.connections.length, before + 1);
});

test('clients that authenticate and leave take no more than half of the descriptors from others', async () => {
  using upstream = await windows();
  using proxy = await ProxyFixture.with([site('a.test', upstream)], { maxSockets: 40 });
  const { connections } = proxy.ledger;
  for (let clients = 0; clients < 50; clients++) {
    const client = await proxy.connect();
    assert.equal(await ask(client, BEGIN), '401');
    client.socket.destroy();
    await eventually('the client to have left', () => connections.open() === 0);
  }
  assert.ok(connections.sockets() <= 21, `${connections.sockets()} descriptors are in use`);
  const alice = await proxy.connect();
  assert.equal(await ask(alice, BEGIN), '401');
  assert.equal(await ask(alice, PROVE), 'alice');
});

test('a client authenticates past the cache, and the requests of the cache use no such connection', async () => {
  using upstream = await windows();
  using proxy = await cachingProxy({ ...site('a.test', upstream), cache: {} });
  const [alice, mallory] = [await proxy.connect(), await proxy.connect()];
  assert.equal(await ask(alice, BEGIN), '401');
  assert.equal(await ask(alice, PROVE), 'alice');
  assert.equal(await ask(mallory), 'nobody');
});
