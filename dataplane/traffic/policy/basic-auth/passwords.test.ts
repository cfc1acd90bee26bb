import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashSync } from 'bcrypt';
import { as, ComparesByHand } from '../../testing/compares-fixture.ts';
import { eventually, get, ProxyFixture } from '../../testing/proxy-fixture.ts';
import { field } from '../../testing/wire-fixture.ts';

const HASH = hashSync('secret', 4);
const route = (hash = HASH, body = 'in') => ({
  domain: 'a.test',
  upstream: null,
  tls: false,
  respond: { status: 200, body },
  basic_auth: { users: [{ name: 'bob', hash }] },
});

/** A proxy of one guarded site whose compares the test settles. */
async function underTest() {
  const compares = new ComparesByHand();
  const proxy = await ProxyFixture.start([route()], [], compares.compare);
  return { compares, proxy, [Symbol.dispose]: () => proxy[Symbol.dispose]() };
}

/** A request that is under way with a password of its own. */
async function trying(proxy: ProxyFixture, password: string) {
  const client = await proxy.connect();
  client.send(get('/', as(`bob:${password}`)));
  return client;
}

test('a pair that was found to fit is not compared again, on any connection; one that was not is', async () => {
  using under = await underTest();
  const { compares, proxy } = under;
  const client = await trying(proxy, 'secret');
  await compares.until(1);
  compares.settle(0, true);
  assert.match((await client.readAnswer()).line, / 200 /);
  for (let nth = 0; nth < 3; nth++) assert.match((await proxy.ask(get('/', as('bob:secret')))).line, / 200 /);
  assert.equal(compares.begun.length, 1);
  for (const count of [2, 3]) {
    const wrong = await trying(proxy, 'wrong');
    await compares.until(count);
    compares.settle(count - 1, false);
    assert.match((await wrong.readAnswer()).line, / 401 /);
  }
});

test('a pair is forgotten when its hash changes, and when 1,024 others have come after it', async () => {
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

test('two compares run at once, and requests with the same password wait for one of them together', async () => {
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

test('64 wait; one more is 503 with Retry-After, until a client that waits has left', async () => {
  using under = await underTest();
  const { compares, proxy } = under;
  const clients = await Promise.all(Array.from({ length: 66 }, (_, nth) => trying(proxy, `${nth}`)));
  await eventually('66 requests', () => proxy.ledger.inFlight.total() === 66);
  const over = await proxy.ask(get('/', as('bob:over')));
  assert.match(over.line, / 503 /);
  assert.equal(field(over.head, 'Retry-After'), '1');
  assert.equal(compares.begun.length, 2);
  const waiting = clients.findIndex((_, nth) => compares.begun.every(({ password }) => password !== `${nth}`));
  clients[waiting]?.reset();
  await eventually('65 requests', () => proxy.ledger.inFlight.total() === 65);
  const late = await trying(proxy, 'late');
  await eventually('66 requests again', () => proxy.ledger.inFlight.total() === 66);
  for (let nth = 0; nth < 66; nth++) {
    await compares.until(nth + 1);
    compares.settle(nth, true);
  }
  assert.match((await late.readAnswer()).line, / 200 /);
  assert.equal(
    compares.begun.some(({ password }) => password === `${waiting}`),
    false,
    'nobody computes for a client that has left',
  );
});

test('a client that leaves while its password is compared is 499, and the next one has its turn', async () => {
  using under = await underTest();
  const { compares, proxy } = under;
  const gone = await trying(proxy, 'gone');
  await compares.until(1);
  gone.reset();
  await eventually('the client to be gone', () => proxy.ledger.inFlight.total() === 0);
  compares.settle(0, true);
  assert.match((await proxy.ask(get('/', as('bob:gone')))).line, / 200 /, 'what was found out is kept');
  assert.deepEqual(proxy.counted().get('a.test')?.classes, [0, 1, 0, 0, 0, 1]);
});

test('a request goes on with the block that it began with, whatever the table says by then', async () => {
  using under = await underTest();
  const { compares, proxy } = under;
  const client = await trying(proxy, 'secret');
  await compares.until(1);
  await proxy.publish([route(hashSync('other', 4), 'new')]);
  compares.settle(0, true);
  assert.equal((await client.readAnswer()).body, 'in');
});

test('requests behind one that waits keep their order', async () => {
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

test('who waits gets an answer from a worker that is going away, and after saying that nothing more follows', async () => {
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
  await eventually('the drained worker', () => proxy.told.some(({ kind }) => kind === 'drained'));
});

test('a compare that fails lets nobody in: 503, and the log says why', async () => {
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
  for (const slot of [0, 0]) assert.equal(proxy.ledger.turns.take(slot), true);
  const client = await trying(proxy, 'secret');
  await eventually('the request', () => proxy.ledger.inFlight.total() === 1);
  proxy.clock.pass(50);
  assert.equal(compares.begun.length, 0);
  proxy.ledger.turns.give(0);
  proxy.clock.pass(5);
  assert.equal(compares.begun.length, 1);
  compares.settle(0, true);
  assert.match((await client.readAnswer()).line, / 200 /);
});

test('a worker with much to compare leaves a turn to another that waits', async () => {
  using under = await underTest();
  const { compares, proxy } = under;
  for (const password of ['1', '2', '3']) await trying(proxy, password);
  await eventually('three requests', () => proxy.ledger.inFlight.total() === 3);
  assert.equal(proxy.ledger.turns.join(0), true);
  compares.settle(0, true);
  await eventually('an answer', () => proxy.ledger.inFlight.total() === 2);
  assert.equal(compares.begun.length, 2);
  assert.equal(proxy.ledger.turns.take(0), true);
});
