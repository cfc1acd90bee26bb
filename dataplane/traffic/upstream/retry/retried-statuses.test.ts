import assert from 'node:assert/strict';
import { test } from 'node:test';
import { targetKey } from '../../../ledger/targets.ts';
import { Http2UpstreamFixture } from '../../testing/http2/upstream.ts';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field } from '../../testing/wire.ts';

const busy = 'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\nX-From: busy\r\n\r\nbusy';
const post = 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\n\r\nx';

test('after a status to be retried another target answers, and the target is not blamed', async () => {
  using down = await UpstreamFixture.serving(busy);
  using up = await UpstreamFixture.serving(ok('up'));
  using proxy = await ProxyFixture.start([{ ...site('a.test', down, up), lb_retry_statuses: [502, 503] }]);
  for (let nth = 0; nth < 8; nth++) assert.equal((await proxy.request(get())).body, 'up');
  assert.equal(down.requests.length, 8, 'it stays in rotation, and each retry is another turn');
  assert.equal(proxy.ledger.targets.failures(proxy.ledger.targets.find(targetKey(down.address, false))), 0);
  assert.equal(proxy.ledger.inFlight.total(), 0);
});

test('the response is passed on if no other target is left, if retries are used up, or if the request may not be repeated', async () => {
  using one = await UpstreamFixture.serving(busy);
  using two = await UpstreamFixture.serving(busy);
  using proxy = await ProxyFixture.start([{ ...site('a.test', one, two), lb_retry_statuses: [503] }]);
  const answer = await proxy.request(get());
  assert.equal(field(answer.head, 'x-from'), 'busy');
  assert.equal(answer.body, 'busy');
  assert.deepEqual([one.requests.length, two.requests.length], [1, 1]);
  assert.equal((await proxy.request(post)).body, 'busy');
  assert.equal(one.requests.length + two.requests.length, 3);
  await proxy.publish([{ ...site('a.test', one, two), lb_retry_statuses: [503], lb_retries: 0 }]);
  assert.equal((await proxy.request(get())).body, 'busy');
  assert.equal(one.requests.length + two.requests.length, 4);
  await proxy.publish([{ ...site('a.test', one, two), lb_retry_statuses: [503], lb_retry_budget: 0 }]);
  assert.equal((await proxy.request(get())).body, 'busy');
  assert.equal(one.requests.length + two.requests.length, 5);
});

test('a status of an HTTP/2 target is retried, too', async () => {
  using down = await Http2UpstreamFixture.serving(({ stream }) => {
    stream.respond({ ':status': 503 });
    stream.end('busy');
  });
  using up = await Http2UpstreamFixture.serving(({ stream }) => {
    stream.respond({ ':status': 200 });
    stream.end('up');
  });
  const transport = { protocol: 'h2c' as const };
  using proxy = await ProxyFixture.start([{ ...site('a.test', down, up), transport, lb_retry_statuses: [503] }]);
  for (let nth = 0; nth < 4; nth++) assert.equal((await proxy.request(get())).body, 'up');
  assert.equal(down.requests.length, 4);
});

test('when every target fails, retries stay within the budget instead of multiplying the load', async () => {
  const broken = () =>
    UpstreamFixture.serving((_, wire) => {
      wire.reset();
      return null;
    });
  using one = await broken();
  using two = await broken();
  using three = await broken();
  using proxy = await ProxyFixture.start([{ ...site('a.test', one, two, three), passive_health: { max_fails: 0 } }]);
  const REQUESTS = 1_000;
  for (let nth = 0; nth < REQUESTS; nth++) assert.match((await proxy.request(get())).line, / 502 /);
  const sent = one.requests.length + two.requests.length + three.requests.length;
  assert.equal(sent, REQUESTS + 1_000 + 0.2 * REQUESTS, 'of 2,000 that two retries each would make, 1,200 were made');
});

test('a request over the budget waits for a target if requests may be held', async () => {
  using upstream: UpstreamFixture = await UpstreamFixture.serving((_, wire) => {
    if (upstream.requests.length > 1) return ok('at last');
    wire.reset();
    return null;
  });
  using proxy = await ProxyFixture.start([{ ...site('a.test', upstream), hold_secs: 10, lb_retry_budget: 0 }]);
  const answer = proxy.request(get());
  await eventually('it to be dropped', () => upstream.requests.length === 1);
  await eventually('it to be tried again', () => {
    proxy.clock.pass(250);
    return upstream.requests.length === 2;
  });
  assert.equal((await answer).body, 'at last');
});
