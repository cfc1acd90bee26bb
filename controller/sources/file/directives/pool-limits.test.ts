import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileBytes } from '../compile.ts';
import { formatDiagnostic } from '../diagnostics/diagnostics.ts';

const compiled = (lines: string) =>
  compileBytes(Buffer.from(`a.example {\n  reverse_proxy a:80 b:80 {\n    ${lines}\n  }\n}\n`), 'Sluicefile', {});

function routeOf(lines: string) {
  const result = compiled(lines);
  assert.ok(result.ok, result.ok ? '' : result.diagnostics.map(formatDiagnostic).join('\n'));
  return result.routes[0];
}

test('the block of reverse_proxy has retries, passive health, slow start and a limit of requests in flight', () => {
  const route = routeOf(`lb_retry_status 502 503
    lb_retry_budget 10%
    max_fails 5
    fail_duration 1m
    unhealthy_status 500 502 5xx
    circuit_breaker 25% 50
    slow_start 30s
    max_in_flight 20
    queue 100 3s`);
  assert.deepEqual(route?.lb_retry_statuses, [502, 503]);
  assert.equal(route?.lb_retry_budget, 10);
  assert.deepEqual(route?.passive_health, {
    max_fails: 5,
    fail_secs: 60,
    statuses: ['500', '502', '5xx'],
    error_percent: 25,
    error_requests: 50,
  });
  assert.equal(route?.slow_start_secs, 30);
  assert.deepEqual(route?.max_in_flight, { requests: 20, queue: 100, queue_secs: 3 });
  assert.deepEqual(routeOf('max_in_flight 1')?.max_in_flight, { requests: 1, queue: 0, queue_secs: 5 });
});

test('a handle with its own targets inherits none of it', () => {
  const text = `a.example {
  reverse_proxy a:80 {
    max_fails 5
    max_in_flight 20
  }
  handle /api/* {
    reverse_proxy b:80
  }
}
`;
  const result = compileBytes(Buffer.from(text), 'Sluicefile', {});
  assert.ok(result.ok);
  const [handle] = result.routes[0]?.handles ?? [];
  assert.equal(handle?.passive_health, null);
  assert.equal(handle?.max_in_flight, undefined);
});

for (const [line, mistake] of [
  ['lb_retry_status', '3:5: lb_retry_status is missing an argument: write lb_retry_status <status> [<status> …]'],
  ['lb_retry_status 5xx', '3:21: lb_retry_status "5xx": a status from 400 to 599, as in 503'],
  ['lb_retry_budget 20', '3:21: lb_retry_budget "20": a percentage from 0% to 100%'],
  ['lb_retry_budget 101%', '3:21: lb_retry_budget "101%": a percentage from 0% to 100%'],
  ['max_fails -1', '3:15: max_fails "-1": a number from 0 to 1000'],
  ['max_fails 1 2', '3:17: "2" is one argument too many for max_fails: write max_fails <n>'],
  ['max_fails 1 {\n    }', '3:17: max_fails takes no block: write max_fails <n>'],
  ['fail_duration 0s', '3:19: fail_duration "0s": whole seconds, 1s to 3600s'],
  ['unhealthy_status 503 200', '3:26: unhealthy_status "200": a status from 400 to 599, or a class, as in 5xx'],
  ['circuit_breaker 0%', '3:21: circuit_breaker "0%": a percentage from 1% to 100%'],
  ['circuit_breaker 10% 0', '3:25: circuit_breaker "0": a number from 1 to 10000'],
  ['slow_start 2h', '3:16: slow_start "2h": '],
  ['max_in_flight 0', '3:19: max_in_flight "0": a number from 1 to 100000'],
  ['queue 10', '3:5: queue needs max_in_flight <n> in the same block: requests wait only for targets that have a limit'],
  ['max_in_flight 1\n    queue 10 6m', '4:14: queue "6m": '],
  ['max_in_flight 1\n    max_in_flight 2', '4:5: max_in_flight is already in line 3; keep one of them'],
  [
    'unhealthy_request_count 5',
    '3:5: unhealthy_request_count of reverse_proxy: write max_in_flight <n>, and queue <n> if more requests may wait',
  ],
  ['max_inflight 5', '3:5: reverse_proxy has no "max_inflight" (did you mean "max_in_flight"?)'],
] as const)
  test(`${line.split('\n').at(-1)} is an error`, () => {
    const result = compiled(line);
    const text = result.ok ? 'accepted' : result.diagnostics.map(formatDiagnostic).join('\n');
    assert.ok(text.includes(mistake), text);
  });
