import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { test } from 'node:test';
import type { PublishedKeySet } from '../../protocol.ts';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import type { Message } from '../../testing/wire.ts';

const URL_A = 'https://i.test/keys';
const [first, second] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')];
const keyOf = (kid: string, { publicKey }: { publicKey: KeyObject }) => ({
  kid,
  pem: publicKey.export({ type: 'spki', format: 'pem' }) as string,
});

function asking(kid: string, { privateKey }: { privateKey: KeyObject }): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'EdDSA', kid })}.${part({ exp: 9_999_999_999 })}`;
  return get('/', `Authorization: Bearer ${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}\r\n`);
}

class Fixture {
  readonly proxy: ProxyFixture;
  private readonly upstream: UpstreamFixture;

  private constructor(proxy: ProxyFixture, upstream: UpstreamFixture) {
    this.proxy = proxy;
    this.upstream = upstream;
  }

  static async start(): Promise<Fixture> {
    const upstream = await UpstreamFixture.serving(ok('in'));
    const jwt = { key_source: { url: URL_A } };
    return new Fixture(await ProxyFixture.start([{ ...site('a.test', upstream), jwt }]), upstream);
  }

  publish(set: Partial<PublishedKeySet>): Promise<void> {
    return this.proxy.useKeySets({ name: URL_A, keys: null, triedAt: this.proxy.clock.now(), failure: null, ...set });
  }

  /** How often the worker has reported missing keys. */
  get wanted(): number {
    return this.proxy.messages.filter(({ kind }) => kind === 'key-wanted').length;
  }

  async status(request: string): Promise<number> {
    return statusOf(await this.proxy.request(request));
  }

  [Symbol.dispose](): void {
    this.proxy[Symbol.dispose]();
    this.upstream[Symbol.dispose]();
  }
}

const statusOf = ({ line }: Message): number => Number(line.slice(9, 12));
/** Wrapped, so that awaiting the request does not await its answer. */
type Sent = { readonly answer: Promise<Message> };
const sent = async (fixture: Fixture, request: string): Promise<Sent> => {
  const before = fixture.wanted;
  const wire = await fixture.proxy.connect();
  wire.send(request);
  const answer = wire.readAnswer();
  await eventually('the request to wait', () => fixture.wanted > before);
  return { answer };
};

test('a request waits for the first keys, and after two seconds without them it is answered with 503', async () => {
  using fixture = await Fixture.start();
  const early = await sent(fixture, asking('a', first));
  await fixture.publish({ keys: null, triedAt: 0 });
  await fixture.publish({ keys: [keyOf('a', first)] });
  assert.equal(statusOf(await early.answer), 200);
  assert.equal(await fixture.status(asking('a', second)), 401);
  assert.equal(await fixture.status(get()), 401);
  using other = await Fixture.start();
  const late = await sent(other, asking('a', first));
  other.proxy.clock.pass(2_000);
  assert.equal(statusOf(await late.answer), 503);
});

test('a token that was accepted is refused once its key is no longer among those that are fetched', async () => {
  using fixture = await Fixture.start();
  await fixture.publish({ keys: [keyOf('a', first)] });
  assert.equal(await fixture.status(asking('a', first)), 200);
  await fixture.publish({ keys: [keyOf('a', second)] });
  assert.deepEqual([await fixture.status(asking('a', first)), await fixture.status(asking('a', second))], [401, 200]);
});

test('while keys cannot be fetched, requests are answered with 503 at once, and explain says why', async () => {
  using fixture = await Fixture.start();
  await fixture.publish({ failure: 'connection refused' });
  assert.equal(await fixture.status(asking('a', first)), 503);
  assert.equal(await fixture.status(get()), 401, 'a request without a token needs no keys');
  const [policy] = fixture.proxy.dryRun('http://a.test/').policies.filter(({ name }) => name === 'jwt');
  assert.equal(policy?.verdict, `503: the keys of ${URL_A} are missing: connection refused`);
  await fixture.publish({ keys: [keyOf('a', first)], failure: 'connection refused' });
  assert.equal(await fixture.status(asking('a', first)), 200, 'the keys from before');
  assert.equal(await fixture.status(asking('b', second)), 401, 'nothing to wait for');
  assert.equal(fixture.wanted, 0);
});

test('a token from a new key waits until the keys are fetched again', async () => {
  using fixture = await Fixture.start();
  await fixture.publish({ keys: [keyOf('a', first)] });
  assert.equal(await fixture.status(asking('b', second)), 401, 'they were fetched just now');
  fixture.proxy.clock.pass(10_000);
  const waiting = await sent(fixture, asking('b', second));
  await fixture.publish({ keys: [keyOf('a', first), keyOf('b', second)] });
  assert.equal(statusOf(await waiting.answer), 200);
  await fixture.publish({ keys: [keyOf('b', second)] });
  assert.equal(
    await fixture.status(asking('a', first)),
    401,
    'a key that was removed verifies nothing, not even what it has verified before',
  );
});

test('a token from a new key waits also when the clock has been set back since the keys were fetched', async () => {
  using fixture = await Fixture.start();
  await fixture.publish({ keys: [keyOf('a', first)] });
  fixture.proxy.clock.jump(-86_400_000);
  const waiting = await sent(fixture, asking('b', second));
  await fixture.publish({ keys: [keyOf('a', first), keyOf('b', second)] });
  assert.equal(statusOf(await waiting.answer), 200);
});

test('forged key ids cause one message at a time, a bounded number of requests that wait, and none when keys are new', async () => {
  using fixture = await Fixture.start();
  const keys = [keyOf('a', first)];
  await fixture.publish({ keys });
  fixture.proxy.clock.pass(10_000);
  const answers: Promise<Message>[] = [];
  for (let nth = 0; nth < 300; nth++) {
    const wire = await fixture.proxy.connect();
    wire.send(asking(`forged ${nth}`, second));
    answers.push(wire.readAnswer());
  }
  await Promise.race(answers);
  assert.equal(fixture.wanted, 1);
  await fixture.publish({ keys });
  for (const answer of answers) assert.equal(statusOf(await answer), 401);
  assert.equal(await fixture.status(asking('more', second)), 401);
  assert.equal(fixture.wanted, 1);
  assert.equal(await fixture.status(asking('a', first)), 200);
});

test('a client that leaves while it waits affects no other', async () => {
  using fixture = await Fixture.start();
  const wire = await fixture.proxy.connect();
  wire.send(asking('a', first));
  await eventually('the request to wait', () => fixture.wanted === 1);
  wire.socket.destroy();
  const other = await fixture.proxy.connect();
  other.send(asking('a', first));
  await fixture.publish({ keys: [keyOf('a', first)] });
  assert.equal(statusOf(await other.readAnswer()), 200);
});
