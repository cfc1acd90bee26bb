import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { attributesOf, Collector } from '../testing/collector.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';
import { freePort } from '../testing/ports.ts';
import { Upstream } from '../testing/upstream.ts';

const lostIn = (metrics: string): number => Number(/^sluice_spans_lost_total (\d+)$/m.exec(metrics)?.[1]);
const fixed = { domain: 'a.test', upstream: null, tls: false, respond: { status: 200, body: 'x' } };

async function startFixed(folder: Folder, flags: readonly string[]): Promise<Dataplane> {
  const dataplane = await Dataplane.start({ stateDir: folder.file('state'), flags });
  assert.equal((await dataplane.admin('POST', '/routes', fixed)).status, 201);
  return dataplane;
}

test('a request through both processes is one trace: of its client, of the proxy, and of the upstream', async () => {
  using folder = new Folder();
  await using collector = await Collector.start();
  await using upstream = await Upstream.start('shop');
  const log = folder.file('access.log');
  const flags = ['--otlp-endpoint', `${collector.url}/base/`, '--otlp-headers', 'X-Api-Key=a%20secret', '--access-log', log];
  await using pair = await Pair.start(folder, `a.test {\n  reverse_proxy ${upstream.address}\n}\n`, { flags });
  const trace = '0af7651916cd43dd8448eb211c80319c';
  const traceparent = `00-${trace}-b7ad6b7169203331-01`;
  const answer = await pair.visit('a.test', '/cart?token=secret', { headers: { traceparent, tracestate: 'a=1' } });
  const { headers } = JSON.parse(answer.text) as { headers: Record<string, string> };
  const [server, attempt, connect] = await collector.until(3);
  assert.ok(server !== undefined && attempt !== undefined && connect !== undefined);
  assert.equal(headers.traceparent, `00-${trace}-${attempt.spanId}-01`);
  assert.equal(headers.tracestate, 'a=1');
  assert.deepEqual([server.parentSpanId, attempt.parentSpanId, connect.parentSpanId], ['b7ad6b7169203331', server.spanId, attempt.spanId]);
  assert.deepEqual(new Set(collector.spans.map(({ traceId }) => traceId)), new Set([trace]));
  assert.equal(attributesOf(server)['url.query'], 'token=REDACTED');
  assert.equal(attributesOf(attempt)['server.port'], `${upstream.port}`);
  for (const { startTimeUnixNano, endTimeUnixNano } of collector.spans) {
    assert.ok(BigInt(startTimeUnixNano) <= BigInt(endTimeUnixNano));
    assert.ok(Math.abs(Number(BigInt(endTimeUnixNano) / 1_000_000n) - Date.now()) < 60_000);
  }
  const [{ url, headers: sent, body } = assert.fail()] = collector.received;
  assert.deepEqual([url, sent['content-type'], sent['x-api-key']], ['POST /base/v1/traces', 'application/json', 'a secret']);
  assert.equal(attributesOf(body.resourceSpans[0]?.resource ?? assert.fail())['service.name'], 'sluice');
  await until('the line', () => readFileSync(log, 'utf8').includes(`"trace_id":"${trace}"`));
  assert.equal(lostIn((await pair.admin('/metrics')).text), 0);
  const settings = (await pair.admin('/settings')).text;
  assert.ok(settings.includes('X-Api-Key') && !settings.includes('a secret'));
});

test('OTEL_EXPORTER_OTLP_ENDPOINT alone traces nothing, and a line says what would', async () => {
  using folder = new Folder();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
  await using dataplane = await Dataplane.start({ stateDir: folder.file('state'), env });
  await dataplane.program.said('OTEL_EXPORTER_OTLP_ENDPOINT is not used: --otlp-endpoint enables tracing');
  assert.match((await dataplane.admin('GET', '/settings')).text, /"otlp_endpoint","value":"off","origin":"default"/);
  await using silent = await Dataplane.start({ stateDir: folder.file('other'), env, flags: ['--otlp-endpoint', 'off'] });
  assert.equal((await silent.admin('GET', '/settings')).status, 200);
  assert.ok(!silent.program.output.includes('OTEL_'));
});

test('a collector that never answers delays neither requests nor the end of the process, and the spans that it does not accept are counted', async () => {
  using folder = new Folder();
  await using collector = await Collector.start();
  collector.answer = null;
  await using dataplane = await startFixed(folder, ['--otlp-endpoint', collector.url]);
  const visit = (): Promise<number> => dataplane.visit('a.test', `/${'x'.repeat(4_000)}`).then(({ status }) => status);
  // 8 MB of spans wait, besides what is in the rings of the workers.
  const lost = async (): Promise<number> => lostIn((await dataplane.admin('GET', '/metrics')).text);
  while ((await lost()) === 0) assert.deepEqual(new Set(await Promise.all(Array.from({ length: 100 }, visit))), new Set([200]));
  assert.equal((await dataplane.program.kill()).code, 0);
  assert.match(dataplane.program.output, /spans were lost/);
});

describe('with a collector on one port', () => {
  const folder = new Folder();
  let port: number;
  let dataplane: Dataplane;
  before(async () => {
    port = await freePort();
    dataplane = await startFixed(folder, ['--otlp-endpoint', `http://127.0.0.1:${port}`]);
  });
  after(async () => {
    await dataplane?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('an unavailable collector delays no request and is reported, and the waiting spans are sent when it is back', async () => {
    assert.equal((await dataplane.visit('a.test')).status, 200);
    await dataplane.program.said("spans can't be sent");
    assert.match(
      (await dataplane.admin('GET', '/status')).text,
      /spans can't be sent to http:\/\/127\.0\.0\.1:\d+\/v1\/traces: ECONNREFUSED/,
    );
    assert.equal((await dataplane.visit('a.test')).status, 200);
    await using collector = await Collector.start(port);
    await collector.until(2);
    await dataplane.program.said('spans can be sent again');
    assert.doesNotMatch((await dataplane.admin('GET', '/status')).text, /spans can't/);
  });

  test('spans that the collector refuses or rejects are counted and not sent again', async () => {
    await using collector = await Collector.start(port);
    const lost = async (): Promise<number> => lostIn((await dataplane.admin('GET', '/metrics')).text);
    const [lostBefore, saidBefore] = [await lost(), dataplane.program.output.length];
    const said = (text: string) => until(text, () => dataplane.program.output.slice(saidBefore).includes(text));
    collector.answer = { status: 200, body: { partialSuccess: { rejectedSpans: '1', errorMessage: 'too old' } } };
    await dataplane.visit('a.test');
    await said('too old');
    assert.equal(await lost(), lostBefore + 1);
    collector.answer = { status: 200, body: {} };
    await dataplane.visit('a.test');
    await said('spans can be sent again');
    collector.answer = { status: 400, body: { message: 'no such tenant' } };
    await dataplane.visit('a.test');
    await said('no such tenant');
    assert.equal(await lost(), lostBefore + 2);
    assert.equal(collector.received.length, 2);
  });

  // The last: it ends the data plane.
  test('the last spans are sent when the process ends', async () => {
    await using collector = await Collector.start(port);
    for (let nth = 0; nth < 20; nth++) await dataplane.visit('a.test', `/${nth}`);
    assert.equal((await dataplane.program.kill()).code, 0);
    assert.deepEqual(
      collector.spans.map((span) => attributesOf(span)['url.path']).sort(),
      Array.from({ length: 20 }, (_, nth) => `/${nth}`).sort(),
    );
  });
});
