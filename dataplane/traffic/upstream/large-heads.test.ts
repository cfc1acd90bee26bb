import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RouteInput } from '../../../shared/route.ts';
import type { TransportSpec } from '../../../shared/upstreams/transport.ts';
import { Http2Client, Http2UpstreamFixture } from '../testing/http2/upstream.ts';
import { get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';

const over = (target: { readonly address: string }, transport: TransportSpec): RouteInput => ({ ...site('a.test', target), transport });
const HANDSHAKE = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
const cookies = (count: number, length: number): string[] =>
  Array.from({ length: count }, (_, at) => `c${at}=${'x'.repeat(length - String(at).length)}`);
const linesOf = (values: readonly string[]): string => values.map((value) => `Set-Cookie: ${value}\r\n`).join('');
const inAnswer = (head: string): number => head.split('\r\n').filter((line) => /^set-cookie:/i.test(line)).length;
const FULL = 990;
const LARGE = 400_000;

for (const [kind, fields] of [
  ['a request', ''],
  ['an upgrade that is declined', HANDSHAKE],
] as const)
  describe(`of a response to ${kind}`, () => {
    for (const [what, count, length] of [
      ['150 cookies', 150, 30],
      ['1,000 lines', FULL, 10],
      ['250 KB', 200, 1_200],
    ] as const)
      test(`${what} are accepted`, async () => {
        using upstream = await UpstreamFixture.serving(ok('x', `${linesOf(cookies(count, length))}Connection: close\r\n`));
        using proxy = await ProxyFixture.before(upstream);
        const { head, body } = await proxy.request(get('/', fields));
        assert.deepEqual([inAnswer(head), body], [count, 'x']);
      });

    for (const [what, count, length] of [
      ['more than 1,000 lines', 1_001, 10],
      ['more than 256 KB', 220, 1_200],
    ] as const)
      test(`${what} are answered with 502, and accepted if the site allows them`, async () => {
        using upstream = await UpstreamFixture.serving(ok('x', `${linesOf(cookies(count, length))}Connection: close\r\n`));
        using proxy = await ProxyFixture.before(upstream);
        assert.match((await proxy.request(get('/', fields))).line, / 502 /);
        await proxy.publish([over(upstream, { max_response_header_bytes: LARGE })]);
        assert.equal(inAnswer((await proxy.request(get('/', fields))).head), count);
      });

    test('a lower limit of the site is enforced', async () => {
      using upstream = await UpstreamFixture.serving(ok('x', `${linesOf(cookies(20, 1_000))}Connection: close\r\n`));
      using proxy = await ProxyFixture.start([over(upstream, { max_response_header_bytes: 16_384 })]);
      assert.match((await proxy.request(get('/', fields))).line, / 502 /);
    });
  });

test('a head of 1,000 lines is forwarded over HTTP/2', async () => {
  using upstream = await UpstreamFixture.serving(ok('x', linesOf(cookies(FULL, 100))));
  using proxy = await ProxyFixture.before(upstream);
  using speaker = new Http2Client(proxy, { settings: { maxHeaderListSize: 262_144 }, maxHeaderListPairs: 1_024 });
  const { status, head } = await speaker.request({ ':path': '/' });
  assert.deepEqual([status, head['set-cookie']?.length], [200, FULL]);
});

describe('of an HTTP/2 upstream', () => {
  const speaking = (count: number, length: number) =>
    Http2UpstreamFixture.serving(
      ({ stream }) => {
        stream.respond([':status', '200', ...cookies(count, length).flatMap((cookie) => ['set-cookie', cookie])]);
        stream.end('x');
      },
      { maxSendHeaderBlockLength: 1_048_576 },
    );

  for (const [what, count, length] of [
    ['150 cookies', 150, 30],
    ['1,000 lines', FULL, 10],
    ['130 KB', 130, 1_000],
  ] as const)
    test(`${what} are accepted`, async () => {
      using upstream = await speaking(count, length);
      using proxy = await ProxyFixture.start([over(upstream, { protocol: 'h2c' })]);
      assert.equal(inAnswer((await proxy.request(get())).head), count);
    });

  for (const [what, count, length] of [
    ['more lines than the site allows', 1_001, 10],
    ['more bytes than the site allows', 20, 1_000],
  ] as const)
    test(`${what} are answered with 502, and the connection stays open`, async () => {
      using upstream = await speaking(count, length);
      const small = { max_response_header_bytes: 16_384 };
      using proxy = await ProxyFixture.start([over(upstream, { protocol: 'h2c', ...small })]);
      for (let turn = 0; turn < 2; turn++) assert.match((await proxy.request(get())).line, / 502 /);
      assert.equal(upstream.sessions.length, 1);
      await proxy.publish([over(upstream, { protocol: 'h2c', max_response_header_bytes: LARGE })]);
      assert.equal(inAnswer((await proxy.request(get())).head), count);
      assert.equal(upstream.sessions.length, 1);
    });
});
