import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EJECTED_SECS, FAILURES_TO_EJECT } from '../../ledger/targets.ts';
import { get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';

const UPGRADE = 'GET /unknown HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
const NOT_FOUND = 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n';

/** A target that may close the connections of upgrades, as many servers do for an unknown path, and answers all else with its name. */
class Target {
  closes = true;
  upgrades = 0;
  readonly upstream: Promise<UpstreamFixture>;

  constructor(name: string) {
    this.upstream = UpstreamFixture.serving(({ head }, wire) => {
      if (!/^upgrade: /im.test(head)) return ok(name);
      this.upgrades++;
      if (!this.closes) return NOT_FOUND;
      wire.end();
      return null;
    });
  }
}

/** The bodies or statuses of this many responses, sorted. */
async function answers(proxy: ProxyFixture, text: string, count: number): Promise<string[]> {
  const seen: string[] = [];
  for (let nth = 0; nth < count; nth++) {
    const { line, body } = await proxy.request(text);
    seen.push(line.startsWith('HTTP/1.1 200') ? body : (line.split(' ')[1] ?? ''));
  }
  return seen.sort();
}

test('a target that closes the connections of upgrades gets none for a while, but still all other requests', async () => {
  const [strict, polite] = [new Target('strict'), new Target('polite')];
  polite.closes = false;
  using first = await strict.upstream;
  using second = await polite.upstream;
  using proxy = await ProxyFixture.before(first, second);
  assert.deepEqual(await answers(proxy, UPGRADE, 2 * FAILURES_TO_EJECT), ['404', '404', '404', '502', '502', '502']);
  assert.deepEqual(await answers(proxy, UPGRADE, 4), ['404', '404', '404', '404']);
  assert.deepEqual(await answers(proxy, get(), 4), ['polite', 'polite', 'strict', 'strict']);
  assert.deepEqual(proxy.targetChanges(), []);

  proxy.clock.pass(EJECTED_SECS * 1_000);
  assert.deepEqual(await answers(proxy, UPGRADE, 4), ['404', '404', '404', '502'], 'one tries it');
  strict.closes = false;
  proxy.clock.pass(EJECTED_SECS * 1_000);
  const before = strict.upgrades;
  assert.deepEqual(await answers(proxy, UPGRADE, 4), ['404', '404', '404', '404']);
  assert.equal(strict.upgrades, before + 2, 'it is back');
});

test('a target that closes the connections of one client’s upgrades still gets those of others, until they fail as well', async () => {
  const [strict, polite] = [new Target('strict'), new Target('polite')];
  polite.closes = false;
  using first = await strict.upstream;
  using second = await polite.upstream;
  using proxy = await ProxyFixture.start([site('a.test', first, second)], ['127.0.0.0/8']);
  const from = (client: string): string => UPGRADE.replace('\r\n', `\r\nX-Forwarded-For: ${client}\r\n`);
  await answers(proxy, from('2001:db8::1'), FAILURES_TO_EJECT);
  await answers(proxy, from('2001:db8::2'), FAILURES_TO_EJECT);
  assert.deepEqual(await answers(proxy, from('2001:db8::3'), 4), ['404', '404', '404', '404'], 'of the same /64');
  assert.deepEqual(await answers(proxy, from('192.0.2.1'), 4), ['404', '404', '404', '502']);
  assert.deepEqual(await answers(proxy, from('192.0.2.2'), 4), ['404', '404', '404', '404']);
});

test('if all targets close the connections of upgrades, they still get them', async () => {
  const [one, other] = [new Target('one'), new Target('other')];
  using first = await one.upstream;
  using second = await other.upstream;
  using proxy = await ProxyFixture.before(first, second);
  assert.deepEqual(await answers(proxy, UPGRADE, 4 * FAILURES_TO_EJECT), Array(4 * FAILURES_TO_EJECT).fill('502'));
  assert.equal(one.upgrades + other.upgrades, 4 * FAILURES_TO_EJECT);
  assert.deepEqual(await answers(proxy, get(), 2), ['one', 'other']);
});

test('a target that refuses the connections of upgrades leaves the rotation for all requests', async () => {
  const dead = await UpstreamFixture.start();
  dead[Symbol.dispose]();
  const alive = new Target('alive');
  alive.closes = false;
  using upstream = await alive.upstream;
  using proxy = await ProxyFixture.before(dead, upstream);
  assert.deepEqual(await answers(proxy, UPGRADE, 2 * FAILURES_TO_EJECT), Array(2 * FAILURES_TO_EJECT).fill('404'));
  assert.deepEqual(
    proxy.targetChanges().map(({ healthy }) => healthy),
    [false],
  );
});
