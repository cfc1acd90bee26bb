import assert from 'node:assert/strict';
import { Agent, type IncomingMessage, request } from 'node:http';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { CacheIndex } from '../../../cache/cache-index.ts';
import { inputsOf } from '../../codec/http1/oracle/testing/differential.ts';
import type { SampleRandom } from '../../codec/http1/oracle/testing/sample-random.ts';
import { CACHE, indexedProxy } from '../../testing/proxy/caching-proxy.ts';
import { eventually, get, type ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { UpstreamFixture } from '../../testing/test-upstream.ts';
import { field, type Message, PATIENCE_MS, type Wire } from '../../testing/wire.ts';
import { BodyCheck, patternOf } from '../../worker/testing/body-pattern.ts';

/** In an ordinary run. */
const REQUESTS = 500;
const AT_ONCE = 20;
const PAGES = 14;
const SIZES = [0, 100, 5_000, 16_384, 40_000, 200_000, 1_000_000];

const sizeOf = (page: number): number => SIZES[page % SIZES.length] as number;
const pageIn = (text: string): number => Number(/p(\d+)/.exec(text)?.[1]);
const CACHED = ['no-cache', 'max-age=1', 'max-age=2, stale-while-revalidate=9'];
const EVIL = { 'user-agent': 'evil' };

/** Has pages that are another version each time, and answers in any way: slowly, with errors, or not to the end. */
class Pages {
  versions = 0;
  /** Whether it answers each request as it should. */
  isCalm = false;
  random: SampleRandom;

  constructor(random: SampleRandom) {
    this.random = random;
  }

  async answer({ line, head }: Message, wire: Wire): Promise<void> {
    const { random, isCalm } = this;
    const page = pageIn(line);
    const name = `p${page}-v${this.versions++}`;
    if (random.once(2)) await delay(random.below(10));
    if (!isCalm && /evil/.test(head) && random.once(2)) return random.once(2) ? wire.reset() : wire.send('no\r\n\r\n');
    if (!isCalm && random.once(20)) return wire.send('HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n');
    const control = isCalm ? 'max-age=60' : random.once(20) ? 'private' : random.pick(CACHED);
    const fields = `Cache-Control: ${control}\r\nETag: "${page}"\r\nCache-Tag: t${page % 3}\r\n${page % 4 === 0 ? 'Vary: X-Variant\r\n' : ''}`;
    if (/If-None-Match/i.test(head) && random.once(2)) return wire.send(`HTTP/1.1 304 Not Modified\r\n${fields}\r\n`);
    const body = patternOf(name, sizeOf(page));
    const chunked = !isCalm && random.once(2);
    const framing = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`;
    wire.send(`HTTP/1.1 200 OK\r\nX-Name: ${name}\r\n${fields}${framing}\r\n\r\n`);
    if (!line.startsWith('HEAD')) await this.send(wire, body, chunked);
  }

  private async send(wire: Wire, body: Buffer, chunked: boolean): Promise<void> {
    const { random, isCalm } = this;
    const end = !isCalm && random.once(8) ? random.below(body.length + 1) : body.length + 1;
    for (let at = 0; at < body.length && !wire.closed; ) {
      const to = Math.min(body.length, at + 1 + random.below(Math.max(5_000, body.length / 5)));
      if (to >= end) return wire.reset();
      const piece = body.subarray(at, to);
      wire.send(chunked ? Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]) : piece);
      at = to;
      if (random.once(4)) await delay(random.below(4));
    }
    if (chunked) wire.send('0\r\n\r\n');
  }
}

/** Clients that leave, read slowly, and ask for parts, and purges between their requests. */
class Traffic {
  private readonly proxy: ProxyFixture;
  private readonly index: CacheIndex;
  private readonly pages: Pages;
  private readonly agent = new Agent({ keepAlive: false });
  /** The page that was requested last. It is the likeliest to be requested, or purged, next. */
  private recent = 0;
  /** How many versions there were when a page was purged last. */
  private readonly purged = new Map<number, number>();

  constructor(proxy: ProxyFixture, index: CacheIndex, pages: Pages) {
    this.proxy = proxy;
    this.index = index;
    this.pages = pages;
  }

  event(random: SampleRandom): void {
    const page = this.recent;
    const kind = random.below(6);
    if (kind === 0) this.proxy.clock.pass(1_000);
    else if (kind === 1) this.index.purge({ kind: 'tag', tag: `t${page % 3}` });
    else if (kind === 2) this.index.purge({ kind: 'prefix', host: 'a.test', prefix: '/p1' });
    else {
      const { versions } = this.pages;
      // The worker knows of it one turn later.
      setImmediate(() => setImmediate(() => this.purged.set(page, versions)));
      this.index.purge({ kind: 'target', host: 'a.test', target: `/p${page}` });
    }
  }

  /** @throws if the response is wrong, or never ends. */
  async ask(random: SampleRandom): Promise<void> {
    const page = random.once(2) ? this.recent : random.below(PAGES);
    this.recent = page;
    const headers: Record<string, string> = {
      ...(random.once(6) && EVIL),
      ...(random.once(4) && { 'x-variant': `${random.below(2)}` }),
      ...(random.once(12) && { range: 'bytes=5-90' }),
      ...(random.once(12) && { 'cache-control': random.pick(['no-cache', 'max-age=0', 'only-if-cached']) }),
      ...(random.once(12) && { 'if-none-match': '*' }),
    };
    const method = random.once(8) ? 'HEAD' : 'GET';
    const leaves = random.once(5) ? random.below(20) : null;
    const before = this.purged.get(page) ?? 0;
    const asked = request({ port: this.proxy.port, path: `/p${page}`, method, agent: this.agent, headers: { host: 'a.test', ...headers } });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const late = setTimeout(() => reject(new Error(`no end of ${method} /p${page} ${JSON.stringify(headers)}`)), PATIENCE_MS);
    if (leaves !== null) setTimeout(() => asked.destroy(), leaves);
    asked.on('response', (response) => {
      const isWhole = response.statusCode === 200 && method === 'GET';
      this.check(response, page, before, isWhole, random.once(4) ? random : null).catch(reject);
    });
    asked.on('error', () => resolve()).on('close', resolve);
    asked.end();
    await promise.finally(() => clearTimeout(late));
  }

  private async check(response: IncomingMessage, page: number, before: number, isWhole: boolean, slow: SampleRandom | null): Promise<void> {
    const name = `${response.headers['x-name'] ?? ''}`;
    if (name === '') return void response.resume();
    assert.equal(pageIn(name), page);
    assert.ok(Number(name.split('-v')[1]) >= before, `${name} was requested before a purge`);
    const check = new BodyCheck(name, patternOf(name, sizeOf(page)));
    response.on('error', () => undefined);
    response.on('data', (piece: Buffer) => {
      if (isWhole) check.add(piece);
      if (slow?.once(8) !== true) return;
      response.pause();
      setTimeout(() => response.resume(), slow.below(10));
    });
    await new Promise((resolve) => response.on('close', resolve));
    if (isWhole && response.complete) assert.ok(check.complete, check.progress);
  }

  [Symbol.dispose](): void {
    this.agent.destroy();
  }
}

test('each response is whole and current, and nothing is kept of it, regardless of what clients, upstream and purges do at the same time', async (t) => {
  const inputs = [...inputsOf(t, REQUESTS)];
  const [first] = inputs;
  assert.ok(first !== undefined);
  const pages = new Pages(first.random);
  using upstream = await UpstreamFixture.serving((asked, wire) => {
    void pages.answer(asked, wire);
    return null;
  });
  const { proxy, index } = await indexedProxy({ ...site('a.test', upstream), cache: {} });
  using _ = proxy;
  using traffic = new Traffic(proxy, index, pages);
  let next = 0;
  const client = async (): Promise<void> => {
    for (let input = inputs[next++]; input !== undefined; input = inputs[next++]) {
      if (input.random.once(3)) traffic.event(input.random);
      await traffic.ask(input.random).catch((error: Error) => {
        next = inputs.length;
        throw input.failed(error);
      });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  await eventually('nothing to be in flight', () => proxy.ledger.inFlight.total() === 0);
  // The memory for responses that are being received, a quarter of the cache, is free: the largest ones together take nearly as much.
  pages.isCalm = true;
  index.purge({ kind: 'prefix', host: 'a.test', prefix: '/' });
  proxy.clock.pass(61_000);
  const largest = Array.from({ length: PAGES }, (_, page) => page).filter((page) => sizeOf(page) === SIZES.at(-1));
  assert.equal(Math.floor(CACHE.cacheSize / 4 / sizeOf(largest[0] ?? 0)), largest.length);
  for (const result of ['stored', 'hit']) {
    const answers = await Promise.all(largest.map((page) => proxy.request(get(`/p${page}`))));
    for (const { head } of answers) assert.match(field(head, 'Cache-Status') ?? '', new RegExp(`; ${result}`));
  }
});
