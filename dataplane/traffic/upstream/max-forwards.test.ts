import assert from 'node:assert/strict';
import { test } from 'node:test';
import { get, ProxyFixture } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field } from '../testing/wire.ts';
import { decrementMaxForwards, endsHere } from './max-forwards.ts';

const asking = (method: string, fields: string): string => get('/', fields).replace('GET', method);

test('OPTIONS and TRACE with Max-Forwards: 0 are answered by the proxy and not forwarded', async () => {
  using upstream = await UpstreamFixture.serving(ok('upstream'));
  using proxy = await ProxyFixture.before(upstream);
  const options = await proxy.request(asking('OPTIONS', 'Max-Forwards: 0\r\n'));
  assert.match(options.line, / 200 /);
  assert.equal(options.body, '');
  const trace = await proxy.request(asking('TRACE', 'Cookie: secret=1\r\nMax-Forwards: 00\r\n'));
  assert.match(trace.line, / 405 /);
  assert.equal(field(trace.head, 'Allow'), 'OPTIONS');
  assert.doesNotMatch(trace.body, /secret/);
  assert.equal(upstream.requests.length, 0);
});

test('Max-Forwards is decremented for OPTIONS and TRACE only', async () => {
  using upstream = await UpstreamFixture.serving((request) => ok(field(request.head, 'Max-Forwards') ?? 'none'));
  using proxy = await ProxyFixture.before(upstream);
  const passedOn = async (method: string, count: string) => (await proxy.request(asking(method, `Max-Forwards: ${count}\r\n`))).body;
  assert.equal(await passedOn('OPTIONS', '7'), '6');
  assert.equal(await passedOn('TRACE', '1'), '0');
  assert.equal(await passedOn('GET', '0'), '0');
});

test('a malformed Max-Forwards is forwarded unchanged, and a huge one is capped', () => {
  assert.equal(decrementMaxForwards('TRACE', 'A: 1\r\nMax-Forwards: -1\r\n'), 'A: 1\r\nMax-Forwards: -1\r\n');
  assert.equal(
    decrementMaxForwards('TRACE', 'X-Max-Forwards: 3\r\nmax-forwards:\t10 \r\nB: 4\r\n'),
    'X-Max-Forwards: 3\r\nmax-forwards:\t9\r\nB: 4\r\n',
  );
  assert.equal(decrementMaxForwards('OPTIONS', `Max-Forwards: ${'9'.repeat(400)}\r\n`), 'Max-Forwards: 1000000\r\n');
  assert.equal(endsHere('OPTIONS', 'Max-Forwards: \r\n'), false);
  assert.equal(endsHere('OPTIONS', 'A: b\r\n'), false);
});
