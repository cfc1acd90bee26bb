import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashSync } from 'bcrypt';
import { as, ManualCompares } from '../../testing/manual-compares.ts';
import { eventually, get, ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { field } from '../../testing/wire.ts';

const HASH = hashSync('secret', 4);
const route = (hash = HASH, body = 'in') => ({
  domain: 'a.test',
  upstream: null,
  tls: false,
  respond: { status: 200, body },
  basic_auth: { users: [{ name: 'bob', hash }] },
});

/** A proxy with one guarded site whose comparisons the test settles. */
async function underTest() {
  const compares = new ManualCompares();
  const proxy = await ProxyFixture.start([route()], [], compares.compare);
  return { compares, proxy, [Symbol.dispose]: () => proxy[Symbol.dispose]() };
}

/** A pending request with a password of its own. */
async function trying(proxy: ProxyFixture, password: string) {
  const client = await proxy.connect();
  client.send(get('/', as(`bob:${password}`)));
  return client;
}

test('an accepted pair is not compared again on any connection, and a rejected one is', async () => {
  using under = await underTest();
  const { compares, proxy } = under;
  const client = await trying(proxy, 'secret');
  await compares.until(1);
  compares.settle(0, true);
  assert.match((await client.readAnswer()).line, / 200 /);
  for (let nth = 0; nth < 3; nth++) assert.match((await proxy.request(get('/', as('bob:secret')))).line, / 200 /);
  assert.equal(compares.begun.length, 1);
  for (const count of [2, 3]) {
    const wrong = await trying(proxy, 'wrong');
    await compares.until(count);
    compares.settle(count - 1, false);
    assert.match((await wrong.readAnswer()).line, / 401 /);
  }
});

test('a pair is forgotten when its hash changes, and after 1,024 others', async () => {
  const compares: string[] = [];
  using proxy = await ProxyFixture.start([route()], [], async (password, hash) => {
    compares.push(`${password} ${hash}`);
    return true;
  });
  const client = await proxy.connect();
  const ask = async (password: string) => {
    client.send(get('/', as(`bob:${password}`)));
    await client.readAnswer();
  };
  await ask('first');
  await ask('first');
  assert.equal(compares.length, 1);
  const other = hashSync('x', 4);
  await proxy.publish([route(other)]);
  await ask('first');
  assert.equal(compares.at(-1), `first ${other}`);
  for (let nth = 0; nth < 1_023; nth++) await ask(`${nth}`);
  const before = compares.length;
  await ask('first');
  assert.equal(compares.length, before, 'the last 1,024 are remembered');
  for (let nth = 1_023; nth < 2_047; nth++) await ask(`${nth}`);
  await ask('first');
  assert.equal(compares.at(-1), `first ${other}`);
  assert.equal(compares.length, before + 1_025);
});

test('two comparisons run at once, and requests with the same password share one', async () => {
  using under = await underTest();
  const { compares, proxy } = under;
  const one = await trying(proxy, 'one');
  const alsoOne = await trying(proxy, 'one');
  const two = await trying(proxy, 'two');
  await compares.until(2);
  const three = await trying(proxy, 'three');
  await eventually('four requests', () => proxy.ledger.inFlight.total() === 4);
  assert.deepEqual(
    compares.begun.map(({ password }) => password),
    ['one', 'two'],
  );
  compares.settle(0, true);
  for (const client of [one, alsoOne]) assert.match((await client.readAnswer()).line, / 200 /);
  await compares.until(3);
  compares.settle(1, false);
  compares.settle(2, true);
  assert.match((await two.readAnswer()).line, / 401 /);
  assert.match((await three.readAnswer()).line, / 200 /);
});

test('8 passwords of one client may wait, and another is answered with 429 and Retry-After until one of them leaves', async () => {
  using under = await underTest();
  const { compares, proxy } = under;
  const clients = await Promise.all(Array.from({ length: 10 }, (_, nth) => trying(proxy, `${nth}`)));
  await eventually('10 requests', () => proxy.ledger.inFlight.total() === 10);
  const over = await proxy.request(get('/', as('bob:over')));
  assert.match(over.line, / 429 /);
  assert.equal(field(over.head, 'Retry-After'), '1');
  assert.equal(compares.begun.length, 2);
  const waiting = clients.findIndex((_, nth) => compares.begun.every(({ password }) => password !== `${nth}`));
  clients[waiting]?.reset();
  await eventually('9 requests', () => proxy.ledger.inFlight.total() === 9);
  const late = await trying(proxy, 'late');
  await eventually('10 requests again', () => proxy.ledger.inFlight.total() === 10);
  for (let nth = 0; nth < 10; nth++) {
    await compares.until(nth + 1);
    compares.settle(nth, true);
  }
  assert.match((await late.readAnswer()).line, / 200 /);
  assert.equal(
    compares.begun.some(({ password }) => password === `${waiting}`),
    false,
    'nothing is compared for a client that has left',
  );
});

/** The same behind a trusted proxy, which sends the client's address. */
async function fromManyAddresses() {
  const compares = new ManualCompares();
  const proxy = await ProxyFixture.start([route()], ['127.0.0.1/32'], compares.compare);
  const from = async (address: string, password: string) => {
    const client = await proxy.connect();
    client.send(get('/', `${as(`bob:${password}`)}X-Forwarded-For: ${address}\r\n`));
    return client;
  };
  const asking = (count: number) => eventually(`${count} requests`, () => proxy.ledger.inFlight.total() === count);
  return { compares, proxy, from, asking, [Symbol.dispose]: () => proxy[Symbol.dispose]() };
}

test('a first login is served next although 150 clients with a wrong password wait', async () => {
  using under = await fromManyAddresses();
  const { compares, from, asking } = under;
  const address = (nth: number) => `198.51.100.${nth + 1}`;
  for (let nth = 0; nth < 150; nth++) {
    const wrong = await from(address(nth), `first ${nth}`);
    await compares.until(nth + 1);
    compares.settle(nth, false);
    assert.match((await wrong.readAnswer()).line, / 401 /);
  }
  for (let nth = 0; nth < 150; nth++) await from(address(nth), `second ${nth}`);
  await asking(150);
  const newcomer = await from('203.0.113.1', 'secret');
  await asking(151);
  assert.equal(compares.begun.length, 152);
  compares.settle(150, false);
  await compares.until(153);
  assert.equal(compares.begun[152]?.password, 'secret');
  compares.settle(152, true);
  assert.match((await newcomer.readAnswer()).line, / 200 /);
});

test('clients take turns, however many passwords each of them tries, and an IPv6 /64 is one client', async () => {
  using under = await fromManyAddresses();
  const { compares, from, asking } = under;
  for (let nth = 0; nth < 10; nth++) await from(`2001:db8::${nth + 1}`, `guess ${nth}`);
  await asking(10);
  await from('203.0.113.1', 'one');
  await from('203.0.113.2', 'two');
  await asking(12);
  compares.settle(0, true);
  await compares.until(3);
  compares.settle(1, true);
  await compares.until(4);
  compares.settle(2, true);
  await compares.until(5);
  const order = compares.begun.slice(2).map(({ password }) => password);
  assert.equal(order.filter((password) => password.startsWith('guess')).length, 1);
  assert.deepEqual(order.filter((password) => !password.startsWith('guess')).toSorted(), ['one', 'two']);
});

test('when 256 wait, a client without a wrong password takes the place of one with a wrong password only', async () => {
  using under = await fromManyAddresses();
  const { compares, proxy, from, asking } = under;
  const first = await from('198.51.100.1', 'first');
  await compares.until(1);
  compares.settle(0, false);
  assert.match((await first.readAnswer()).line, / 401 /);
  // Other parts of the process use all places but one.
  for (let nth = 0; nth < 255; nth++) assert.equal(proxy.ledger.passwordChecks.enqueue(1), true);
  for (const _ of [0, 1]) assert.equal(proxy.ledger.passwordChecks.tryAcquire(1), true);
  const again = await from('198.51.100.1', 'again');
  await asking(1);
  const newcomer = await from('203.0.113.1', 'secret');
  const busy = await again.readAnswer();
  assert.match(busy.line, / 503 /);
  assert.equal(field(busy.head, 'Retry-After'), '1');
  assert.match((await (await from('203.0.113.2', 'other')).readAnswer()).line, / 503 /);
  assert.match((await (await from('198.51.100.1', 'third')).readAnswer()).line, / 503 /);
  proxy.ledger.passwordChecks.release(1);
  proxy.clock.pass(5);
  await compares.until(2);
  compares.settle(1, true);
  assert.match((await newcomer.readAnswer()).line, / 200 /);
});

test('a client with a wrong password is treated like any other after a right one, or after ten minutes', async () => {
  using under = await fromManyAddresses();
  const { compares, proxy, from, asking } = under;
  const wrongFrom = async (address: string) => {
    const nth = compares.begun.length;
    const client = await from(address, `wrong ${nth}`);
    await compares.until(nth + 1);
    compares.settle(nth, false);
    await client.readAnswer();
  };
  /** Which of the two is served first: the one that arrived first, unless it has sent a wrong password. */
  const nextOf = async (one: string, other: string): Promise<string | undefined> => {
    for (const _ of [0, 1]) assert.equal(proxy.ledger.passwordChecks.tryAcquire(1), true);
    const nth = compares.begun.length;
    const clients = [await from(one, `${one} ${nth}`)];
    await asking(1);
    clients.push(await from(other, `${other} ${nth}`));
    await asking(2);
    proxy.ledger.passwordChecks.release(1);
    proxy.clock.pass(5);
    await compares.until(nth + 1);
    proxy.ledger.passwordChecks.release(1);
    proxy.clock.pass(5);
    await compares.until(nth + 2);
    for (const at of [nth, nth + 1]) compares.settle(at, true);
    for (const client of clients) await client.readAnswer();
    return compares.begun[nth]?.password.split(' ')[0];
  };
  await wrongFrom('192.0.2.1');
  assert.equal(await nextOf('192.0.2.1', '192.0.2.2'), '192.0.2.2');
  assert.equal(await nextOf('192.0.2.1', '192.0.2.2'), '192.0.2.1', 'it sent the right password in between');
  await wrongFrom('192.0.2.1');
  proxy.clock.pass(599_000);
  assert.equal(await nextOf('192.0.2.1', '192.0.2.2'), '192.0.2.2', 'a crowd of hundreds takes minutes to be wrong once each');
  await wrongFrom('192.0.2.1');
  proxy.clock.pass(600_000);
  assert.equal(await nextOf('192.0.2.1', '192.0.2.2'), '192.0.2.1', 'ten minutes have passed');
});

test('a client that disconnects during the comparison is counted as 499, and the next one gets its turn', async () => {
  using under = await underTest();
  const { compares, proxy } = under;
  const gone = await trying(proxy, 'gone');
  await compares.until(1);
  gone.reset();
  await eventually('the client to be gone', () => proxy.ledger.inFlight.total() === 0);
  compares.settle(0, true);
  assert.match((await proxy.request(get('/', as('bob:gone')))).line, / 200 /, 'the result is kept');
  assert.deepEqual(proxy.counted().get('a.test')?.classes, [0, 1, 0, 0, 0, 1]);
});

test('a request continues with the block that it began with, even if the table has changed', async () => {
  using under = await underTest();
  const { compares, proxy } = under;
  const client = await trying(proxy, 'secret');
  await compares.until(1);
  await proxy.publish([route(hashSync('other', 4), 'new')]);
  compares.settle(0, true);
  assert.equal((await client.readAnswer()).body, 'in');
});

test('requests pipelined after a waiting one keep their order', async () => {
  using under = await underTest();
  const { compares, proxy } = under;
  const client = await proxy.connect();
  client.send(get('/', as('bob:secret')) + get() + get('/', as('bob:secret')));
  await compares.until(1);
  assert.equal(client.total, 0);
  compares.settle(0, true);
  const lines = [await client.readAnswer(), await client.readAnswer(), await client.readAnswer()].map(({ line }) => line.slice(9, 12));
  assert.deepEqual(lines, ['200', '401', '200']);
  assert.equal(compares.begun.length, 1);
});

test('a waiting client gets its response from a draining worker, and after it half-closed', async () => {
  using under = await underTest();
  const { compares, proxy } = under;
  const [one, two] = [await trying(proxy, 'one'), await proxy.connect()];
  two.end(get('/', as('bob:two')));
  await compares.until(2);
  proxy.drain();
  compares.settle(0, true);
  compares.settle(1, true);
  for (const client of [one, two]) {
    assert.match(await client.readAll(), /^HTTP\/1\.1 200 [\s\S]*Connection: close\r\n[\s\S]*in$/);
    client.end();
  }
  await eventually('the drained worker', () => proxy.messages.some(({ kind }) => kind === 'drained'));
});

test('a comparison that fails is answered with 503 and logged with the reason', async () => {
  using under = await underTest();
  const { compares, proxy } = under;
  const client = await trying(proxy, 'secret');
  await compares.until(1);
  compares.begun[0]?.fail();
  assert.match((await client.readAnswer()).line, / 503 /);
  assert.match(JSON.stringify(proxy.log), /a password could not be checked/);
  assert.doesNotMatch(JSON.stringify(proxy.log), /secret/);
});

test('a turn that another worker holds is waited for', async () => {
  using under = await underTest();
  const { compares, proxy } = under;
  for (const slot of [1, 1]) assert.equal(proxy.ledger.passwordChecks.tryAcquire(slot), true);
  const client = await trying(proxy, 'secret');
  await eventually('the request', () => proxy.ledger.inFlight.total() === 1);
  proxy.clock.pass(50);
  assert.equal(compares.begun.length, 0);
  proxy.ledger.passwordChecks.release(1);
  proxy.clock.pass(5);
  assert.equal(compares.begun.length, 1);
  compares.settle(0, true);
  assert.match((await client.readAnswer()).line, / 200 /);
});

test('a worker with many comparisons leaves a turn to another one that waits', async () => {
  using under = await underTest();
  const { compares, proxy } = under;
  for (const password of ['1', '2', '3']) await trying(proxy, password);
  await eventually('three requests', () => proxy.ledger.inFlight.total() === 3);
  assert.equal(proxy.ledger.passwordChecks.enqueue(1), true);
  compares.settle(0, true);
  await eventually('an answer', () => proxy.ledger.inFlight.total() === 2);
  assert.equal(compares.begun.length, 2);
  assert.equal(proxy.ledger.passwordChecks.tryAcquire(1), true);
});
