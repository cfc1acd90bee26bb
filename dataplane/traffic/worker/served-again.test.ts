import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashSync } from 'bcrypt';
import type { RouteInput } from '../../../shared/route.ts';
import { packEntries } from '../match/packed.ts';
import { eventually, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field, type Wire } from '../testing/wire.ts';

/** A request that waits because another one is at the only target of its site. */
class Scene {
  readonly proxy: ProxyFixture;
  private readonly upstream: UpstreamFixture;

  private constructor(proxy: ProxyFixture, upstream: UpstreamFixture) {
    this.proxy = proxy;
    this.upstream = upstream;
  }

  static async with(more: Partial<RouteInput>): Promise<Scene> {
    const upstream = await UpstreamFixture.serving(() => null);
    return new Scene(
      await ProxyFixture.start([{ ...site('a.test', upstream), max_in_flight: { requests: 1, queue: 10 }, ...more }]),
      upstream,
    );
  }

  async waiting(fields = ''): Promise<Wire> {
    (await this.proxy.connect()).send(get('/', fields));
    await eventually('the first request', () => this.upstream.requests.length === 1);
    const client = await this.proxy.connect();
    client.send(get('/', fields));
    await eventually('the second one', () => this.proxy.ledger.inFlight.total() === 2);
    return client;
  }

  async replacedBy(route: RouteInput): Promise<void> {
    await this.proxy.publish([route]);
    this.proxy.clock.pass(20);
  }

  async removed(): Promise<void> {
    await this.proxy.apply({ whole: false, ...packEntries([]), removed: ['a.test'] });
    this.proxy.clock.pass(20);
  }

  [Symbol.dispose](): void {
    this.proxy[Symbol.dispose]();
    this.upstream[Symbol.dispose]();
  }
}

test('a request that a newer table serves keeps nothing of what the policies of the earlier one have decided', async () => {
  const basic_auth = { users: [{ name: 'bob', hash: hashSync('secret', 4) }] };
  using scene = await Scene.with({ basic_auth, cors: { origins: ['https://b.test'], credentials: true } });
  using other = await UpstreamFixture.serving(({ head }) => ok(field(head, 'X-User') ?? 'nobody'));
  const credentials = `Authorization: Basic ${Buffer.from('bob:secret').toString('base64')}\r\n`;
  const client = await scene.waiting(`Origin: https://b.test\r\n${credentials}`);
  await scene.replacedBy({ ...site('a.test', other), request_headers: [{ name: 'X-User', value: '{http.auth.user.id}' }] });
  const { head, body } = await client.readAnswer();
  assert.equal(field(head, 'Access-Control-Allow-Origin'), null);
  assert.equal(field(head, 'Access-Control-Allow-Credentials'), null);
  assert.equal(field(head, 'Vary'), null);
  assert.equal(body, '');
});

test('a request whose route was removed while it waited gets none of the headers of that route', async () => {
  using scene = await Scene.with({ headers: [{ name: 'X-Site', value: 'removed' }] });
  const client = await scene.waiting();
  await scene.removed();
  const { line, head } = await client.readAnswer();
  assert.match(line, / 404 /);
  assert.equal(field(head, 'X-Site'), null);
});

test('a request that a newer table serves counts once for a rate limit', async () => {
  using scene = await Scene.with({ rate_limit_rps: 2 });
  using other = await UpstreamFixture.serving(ok('other'));
  const client = await scene.waiting();
  await scene.replacedBy({ ...site('a.test', other), rate_limit_rps: 2 });
  assert.equal((await client.readAnswer()).body, 'other');
});
