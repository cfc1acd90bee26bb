import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cachingProxy } from '../../testing/proxy/caching-proxy.ts';
import { eventually, get, type ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field, type Wire } from '../../testing/wire.ts';

const ALICE = 'Cookie: user=alice\r\n';
const AUTHORIZED = 'Authorization: Bearer alice\r\n';
const nameIn = (head: string): string => /(?:user=|Bearer )(\w+)/.exec(head)?.[1] ?? 'nobody';

/** Has a page for each user. It answers a request only when that is asked for, if it is to wait. */
class Pages implements Disposable {
  readonly upstream: UpstreamFixture;
  /** Whether the next request waits. */
  waits = false;
  private answer: () => void = () => undefined;

  private constructor(upstream: UpstreamFixture) {
    this.upstream = upstream;
  }

  static async start(fields: string): Promise<Pages> {
    const pages: Pages = new Pages(
      await UpstreamFixture.serving(({ head }, wire) => {
        const tag = `"${nameIn(head)}"`;
        const lines = `${fields}ETag: ${tag}\r\n`;
        const known = field(head, 'If-None-Match') === tag;
        const text = known ? `HTTP/1.1 304 Not Modified\r\n${lines}\r\n` : ok(`page of ${nameIn(head)}`, lines);
        if (!pages.waits) return text;
        pages.waits = false;
        pages.answer = () => wire.send(text);
        return null;
      }),
    );
    return pages;
  }

  /** Sends a request that waits for its answer, and another one of the same key, which waits for the first. @returns both, answered. */
  async both(proxy: ProxyFixture, first: string, second: string): Promise<readonly [Wire, Wire]> {
    const before = this.upstream.requests.length;
    this.waits = true;
    const one = await proxy.connect();
    one.send(get('/', first));
    await eventually('the request', () => this.upstream.requests.length === before + 1);
    const other = await proxy.connect();
    other.send(get('/', second));
    await eventually('both to be under way', () => proxy.ledger.inFlight.total() === 2);
    this.answer();
    return [one, other];
  }

  [Symbol.dispose](): void {
    this.upstream[Symbol.dispose]();
  }
}

describe('a client that waits for the response to the request of another one', () => {
  for (const [control, first, second, own] of [
    ['public, max-age=0, must-revalidate', ALICE, 'Cookie: user=bob\r\n', 'bob'],
    ['public, no-cache', ALICE, '', 'nobody'],
    ['public, no-cache', '', ALICE, 'alice'],
    ['public, no-cache', AUTHORIZED, 'Authorization: Bearer bob\r\n', 'bob'],
    ['max-age=0, must-revalidate', AUTHORIZED, '', 'nobody'],
    ['max-age=60, must-revalidate', AUTHORIZED, '', 'nobody'],
  ] as const)
    for (const validated of [false, true])
      test(`gets its own, for ${control}, ${first.trim() || 'nobody'}${validated ? ', if that is validated' : ''}`, async () => {
        using pages = await Pages.start(`Cache-Control: ${control}\r\n`);
        using proxy = await cachingProxy({ ...site('a.test', pages.upstream), cache: {} });
        if (validated) await proxy.request(get('/', first));
        const [one, other] = await pages.both(proxy, first, second);
        assert.equal((await one.readAnswer()).body, `page of ${nameIn(first)}`);
        assert.equal((await other.readAnswer()).body, `page of ${own}`);
      });

  test('gets that one if neither says who sends it, also if it has to be validated each time', async () => {
    using pages = await Pages.start('Cache-Control: no-cache\r\n');
    using proxy = await cachingProxy({ ...site('a.test', pages.upstream), cache: {} });
    for (const requests of [1, 2]) {
      for (const client of await pages.both(proxy, '', '')) assert.equal((await client.readAnswer()).body, 'page of nobody');
      assert.equal(pages.upstream.requests.length, requests);
    }
  });

  test('gets no cookie that the other one is sent when its response is validated', async () => {
    using upstream = await UpstreamFixture.start();
    using proxy = await cachingProxy({ ...site('a.test', upstream), cache: {} });
    const stored = await proxy.connect();
    stored.send(get());
    const { wire } = await upstream.nextRequest();
    wire.send(ok('body', 'Cache-Control: public, no-cache\r\nETag: "a"\r\n'));
    await stored.readAnswer();
    const [one, other] = [await proxy.connect(), await proxy.connect()];
    one.send(get());
    await wire.readRequest();
    other.send(get());
    await eventually('both to be under way', () => proxy.ledger.inFlight.total() === 2);
    wire.send('HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nSet-Cookie: session=one\r\n\r\n');
    assert.equal(field((await one.readAnswer()).head, 'Set-Cookie'), 'session=one');
    const own = await upstream.nextRequest();
    own.wire.send(ok('own', 'Set-Cookie: session=other\r\n'));
    const answer = await other.readAnswer();
    assert.deepEqual([field(answer.head, 'Set-Cookie'), answer.body], ['session=other', 'own']);
  });
});

test('a response to a request with credentials is for others only if it says so, which must-revalidate does not', async () => {
  for (const [control, other] of [
    ['max-age=60, must-revalidate', 'nobody'],
    ['max-age=60, s-maxage=60', 'alice'],
  ] as const) {
    using pages = await Pages.start(`Cache-Control: ${control}\r\n`);
    using proxy = await cachingProxy({ ...site('a.test', pages.upstream), cache: {} });
    await proxy.request(get('/', AUTHORIZED));
    assert.equal((await proxy.request(get())).body, `page of ${other}`);
  }
});

test('a stale response that has to be validated each time is for others if the upstream fails only if no one has identified themselves', async () => {
  for (const [first, body] of [
    [ALICE, ''],
    ['', 'page'],
  ] as const) {
    let fails = false;
    using upstream = await UpstreamFixture.serving(() =>
      fails
        ? 'HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n'
        : ok('page', 'Cache-Control: public, max-age=0\r\nETag: "1"\r\n'),
    );
    using proxy = await cachingProxy({ ...site('a.test', upstream), cache: { stale_if_error_secs: 60 } });
    await proxy.request(get('/', first));
    fails = true;
    assert.equal((await proxy.request(get())).body, body);
  }
});

test('a response is validated over the connection that is kept', async () => {
  using pages = await Pages.start('Cache-Control: no-cache\r\n');
  using proxy = await cachingProxy({ ...site('a.test', pages.upstream), cache: {} });
  for (let requests = 1; requests <= 10; requests++) {
    assert.equal((await proxy.request(get())).body, 'page of nobody');
    assert.deepEqual([pages.upstream.requests.length, pages.upstream.connections.length], [requests, 1]);
  }
});

for (const [how, answer] of [
  ['closes the connection', ''],
  ['answers with something else than HTTP', 'no\r\n\r\n'],
] as const)
  test(`clients that wait do not fail with the request of another one to which the upstream ${how}`, async () => {
    let act: () => void = () => undefined;
    using upstream = await UpstreamFixture.serving(({ head }, wire) => {
      if (!/evil/.test(head)) return ok('fine', 'Cache-Control: max-age=60\r\n');
      act = () => (answer === '' ? wire.reset() : wire.send(answer));
      if (upstream.requests.length > 1) act();
      return null;
    });
    using proxy = await cachingProxy({ ...site('a.test', upstream), cache: {} });
    const evil = await proxy.connect();
    evil.send(get('/', 'User-Agent: evil\r\n'));
    await eventually('the request', () => upstream.requests.length === 1);
    const others = [await proxy.connect(), await proxy.connect()];
    for (const other of others) other.send(get('/'));
    await eventually('all to be under way', () => proxy.ledger.inFlight.total() === 3);
    act();
    for (const other of others) assert.equal((await other.readAnswer()).body, 'fine');
    assert.match((await evil.readAnswer()).line, / 502 /);
  });

for (const [what, text] of [
  ['only the head', get().replace('GET', 'HEAD')],
  ['only a part', get('/', 'Range: bytes=0-1\r\n')],
] as const)
  test(`a client that wants ${what} does not fail with the request of another one that it waits for`, async () => {
    let act: () => void = () => undefined;
    using upstream = await UpstreamFixture.serving(({ line, head }, wire) => {
      if (/evil/.test(head)) act = () => wire.send('no\r\n\r\n');
      return /evil/.test(head) ? null : line.startsWith('HEAD') ? 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n' : ok('fine');
    });
    using proxy = await cachingProxy({ ...site('a.test', upstream), cache: {} });
    const [evil, other] = [await proxy.connect(), await proxy.connect()];
    evil.send(get('/', 'User-Agent: evil\r\n'));
    await eventually('the request', () => upstream.requests.length === 1);
    other.send(text);
    await eventually('both to be under way', () => proxy.ledger.inFlight.total() === 2);
    act();
    assert.match((await other.readAnswer(text.slice(0, 4).trim())).line, / 200 /);
    assert.match((await evil.readAnswer()).line, / 502 /);
  });

test('clients behind another proxy wait for each other’s request, although a client without one was first', async () => {
  const waiting: Wire[] = [];
  using upstream = await UpstreamFixture.serving((_, wire) => {
    waiting.push(wire);
    return null;
  });
  using proxy = await cachingProxy({ ...site('a.test', upstream), cache: {} });
  const clients: Wire[] = [];
  for (const fields of ['', 'Sluice-Hops: 1\r\n', 'Sluice-Hops: 1\r\n', 'Sluice-Hops: 1\r\n', '']) {
    const client = await proxy.connect();
    client.send(get('/', fields));
    clients.push(client);
    await eventually('it to be under way', () => proxy.ledger.inFlight.total() === clients.length);
    if (clients.length < 3) await eventually('its request', () => waiting.length === clients.length);
  }
  for (const [at, wire] of waiting.entries()) wire.send(ok(`response ${at}`, 'Cache-Control: max-age=60\r\n'));
  const bodies = await Promise.all(clients.map(async (client) => (await client.readAnswer()).body));
  assert.deepEqual(bodies, ['response 0', 'response 1', 'response 1', 'response 1', 'response 1']);
});

test('a request that has come round too often takes no place from one that others wait for', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await cachingProxy({ ...site('a.test', upstream), cache: {} });
  const first = await proxy.connect();
  first.send(get());
  const { wire } = await upstream.nextRequest();
  assert.equal((await proxy.request(get('/', 'Sluice-Hops: 999\r\n'))).line, 'HTTP/1.1 508 Loop Detected');
  const second = await proxy.connect();
  second.send(get());
  await eventually('both to be under way', () => proxy.ledger.inFlight.total() === 2);
  wire.send(ok('once', 'Cache-Control: max-age=60\r\n'));
  for (const client of [first, second]) assert.equal((await client.readAnswer()).body, 'once');
});
