import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutFields } from '../codec/http1/kept-lines.ts';
import { type Policy, passes } from '../policy/policy.ts';
import { Http2Client, Http2UpstreamFixture, okay } from '../testing/http2/upstream.ts';
import { get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { everywhere } from '../testing/way-back.ts';
import { field } from '../testing/wire.ts';

/** Names the user to the upstream, keeps the credentials from it, and asks it for another page. */
const NAMING: Policy = {
  name: 'naming',
  decide(x) {
    x.upstreamFields = `${withoutFields(x.upstreamFields, new Set(['authorization']))}X-User: ann\r\n`;
    x.upstreamTarget = `/users/ann?from=${x.target}`;
    return null;
  },
  explain: () => passes('names the user'),
};

/** What an upstream received: its target, and fields by name (null for none). */
type Received = { readonly target: string | null; field(name: string): string | null };
type Upstream = Disposable & { readonly address: string; received(at: number): Received };

async function http1(): Promise<Upstream> {
  const upstream = await UpstreamFixture.serving(ok('fine'));
  return {
    address: upstream.address,
    received(at) {
      const request = upstream.requests[at];
      assert.ok(request);
      return { target: request.line.split(' ')[1] ?? null, field: (name) => field(request.head, name) };
    },
    [Symbol.dispose]: () => upstream[Symbol.dispose](),
  };
}

async function http2(): Promise<Upstream> {
  const upstream = await Http2UpstreamFixture.serving(okay('fine'));
  return {
    address: upstream.address,
    received(at) {
      const request = upstream.requests[at];
      assert.ok(request);
      return { target: request.field(':path'), field: (name) => request.field(name) };
    },
    [Symbol.dispose]: () => upstream[Symbol.dispose](),
  };
}

const UPSTREAMS = [
  { name: 'HTTP/1.1', serving: http1, transport: {} },
  { name: 'HTTP/2', serving: http2, transport: { transport: { protocol: 'h2c' as const } } },
];

for (const { name, serving, transport } of UPSTREAMS)
  test(`an upstream of ${name} receives the target and fields that a policy has set, from clients of both versions`, async () => {
    using upstream = await serving();
    const routes = [{ ...site('a.test', upstream), ...transport }];
    using proxy = await ProxyFixture.with(routes, {}, { blockKinds: { ...everywhere([]), policies: [() => [NAMING]] } });
    assert.equal((await proxy.request(get('/me', 'Authorization: Basic eDp5\r\nX-Other: kept\r\n'))).body, 'fine');
    using client = new Http2Client(proxy);
    assert.equal((await client.request({ ':path': '/me', authorization: 'Basic eDp5', 'x-other': 'kept' })).body, 'fine');
    for (const at of [0, 1]) {
      const { target, field } = upstream.received(at);
      assert.deepEqual(
        [target, field('x-user'), field('authorization'), field('x-other'), field('host') ?? field(':authority')],
        ['/users/ann?from=/me', 'ann', null, 'kept', 'a.test'],
      );
    }
  });
