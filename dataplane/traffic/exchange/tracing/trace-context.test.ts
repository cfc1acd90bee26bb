import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Cidr } from '../../../../shared/values/cidr.ts';
import { fieldsIn } from '../../codec/http1/kept-lines.ts';
import type { TracingSettings } from '../../protocol.ts';
import { Http2Client, Http2UpstreamFixture, okay } from '../../testing/http2/upstream.ts';
import { get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const STATE = 'tracestate: a=1\r\nTraceState: b=2\r\n';
const ALL: TracingSettings = { ratio: 1, trustsClients: false };
const NONE: TracingSettings = { ratio: 0, trustsClients: false };
const LOCAL = ['127.0.0.0/8'] as Cidr[];
const FORM = /^00-([0-9a-f]{32})-([0-9a-f]{16})-(0[01])$/;

type Sent = { readonly trace: string; readonly span: string; readonly flags: string; readonly states: string[]; readonly head: string };

/** What the upstream receives of a request with these fields. */
async function forwarded(fields: string, tracing: TracingSettings | null, trustedProxies: readonly Cidr[] = []): Promise<Sent> {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.with([site('a.test', upstream)], { tracing, trustedProxies });
  await proxy.request(get('/', fields));
  const { head } = upstream.requests[0] ?? assert.fail('no request');
  const parents = fieldsIn(head, 'traceparent');
  if (tracing !== null) assert.equal(parents.length, 1, head);
  const [, trace = '', span = '', flags = ''] = FORM.exec(parents[0] ?? '') ?? [];
  return { trace, span, flags, states: fieldsIn(head, 'tracestate'), head };
}
const parent = (flags = '01', name = 'traceparent'): string => `${name}: 00-${TRACE}-${SPAN}-${flags}\r\n`;

describe('without tracing', () => {
  test('what a client sends is passed on unchanged, valid or not', async () => {
    const fields = `TraceParent: nonsense\r\ntraceparent: 00-${TRACE}-${SPAN}-ff\r\n${STATE}`;
    assert.ok((await forwarded(fields, null)).head.includes(fields));
  });

  test('nothing is added', async () => {
    assert.deepEqual(fieldsIn((await forwarded('', null)).head, 'traceparent'), []);
  });
});

describe('with tracing', () => {
  test('a request without a trace begins one, with ids of its own', async () => {
    const [one, two] = [await forwarded('', ALL), await forwarded('', ALL)];
    assert.match(one.trace, /[1-9a-f]/);
    assert.notEqual(one.trace, two.trace);
    assert.notEqual(one.span, two.span);
    assert.equal(one.flags, '01');
  });

  test('the trace of a client is continued with a span of our own, and its tracestate is kept', async () => {
    const sent = await forwarded(parent() + STATE, ALL);
    assert.equal(sent.trace, TRACE);
    assert.notEqual(sent.span, SPAN);
    assert.deepEqual(sent.states, ['a=1', 'b=2']);
  });

  for (const [what, fields] of [
    ['an invalid traceparent', 'traceparent: nonsense\r\n'],
    ['a traceparent of the invalid version', `traceparent: ff-${TRACE}-${SPAN}-01\r\n`],
    ['two traceparent fields', parent() + parent('01', 'TraceParent')],
    ['no traceparent', ''],
    ['a traceparent that Connection names', `${parent()}Connection: traceparent\r\n`],
  ] as const)
    test(`${what} begins a new trace and drops tracestate`, async () => {
      const sent = await forwarded(fields + STATE, ALL);
      assert.match(sent.trace, /^[0-9a-f]{32}$/);
      assert.notEqual(sent.trace, TRACE);
      assert.deepEqual(sent.states, []);
    });

  test('a client does not decide whether its request is sampled', async () => {
    assert.equal((await forwarded(parent('01'), NONE)).flags, '00');
    assert.equal((await forwarded(parent('00'), ALL)).flags, '01');
  });

  test('a trusted proxy decides, and so does every client if that is allowed', async () => {
    for (const trust of [(settings: TracingSettings, fields: string) => forwarded(fields, settings, LOCAL), everyone]) {
      assert.equal((await trust(NONE, parent('01'))).flags, '01');
      assert.equal((await trust(ALL, parent('00'))).flags, '00');
      assert.equal((await trust(NONE, 'traceparent: nonsense\r\n')).flags, '00');
      assert.equal((await trust(ALL, '')).flags, '01');
    }
  });

  test('an HTTP/2 client and an HTTP/2 upstream have the same fields', async () => {
    using upstream = await Http2UpstreamFixture.serving(okay('x'));
    using proxy = await ProxyFixture.with([{ ...site('a.test', upstream), transport: { protocol: 'h2c' } }], { tracing: ALL });
    using client = new Http2Client(proxy);
    await client.request({ ':path': '/', traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: 'a=1' });
    const [asked] = upstream.requests;
    assert.match(asked?.field('traceparent') ?? '', new RegExp(`^00-${TRACE}-(?!${SPAN})[0-9a-f]{16}-01$`));
    assert.equal(asked?.field('tracestate'), 'a=1');
  });
});

const everyone = (settings: TracingSettings, fields: string): Promise<Sent> => forwarded(fields, { ...settings, trustsClients: true });
