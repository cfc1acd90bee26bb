import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readH2load } from './h2load.ts';
import { readWrk } from './wrk.ts';

const WRK = `Running 1s test @ http://127.0.0.1:1/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.10ms  337.46us   8.71ms   89.28%
    Req/Sec    58.51k     3.59k   63.31k    80.00%
  Latency Distribution
     50%    1.05ms
     75%    1.20ms
     90%    1.38ms
     99%  837.00us
  58172 requests in 1.00s, 12.65MB read
Requests/sec:  57913.43
Transfer/sec:     12.59MB
`;

test('rate and latency are read from what wrk prints', () => {
  assert.deepEqual(readWrk(WRK), { perSecond: 57_913.43, requests: 58_172, latency: { p50: 1.05, p99: 0.837, delayed: null } });
});

test('failed requests are no measurement', () => {
  assert.throws(() => readWrk(`${WRK}  Non-2xx or 3xx responses: 3\n`), /requests failed/);
  assert.throws(() => readWrk(`${WRK}  Socket errors: connect 0, read 7, write 0, timeout 0\n`), /requests failed/);
  assert.throws(() => readWrk('unable to connect'), /did not measure/);
});

test('timeouts of wrk are slow responses, not failed ones', () => {
  assert.equal(readWrk(`${WRK}  Socket errors: connect 0, read 0, write 0, timeout 9\n`).requests, 58_172);
});

const H2LOAD = (failed: number) => `finished in 1.01s, 22222.50 req/s, 4.93MB/s
requests: 22223 total, 22383 started, 22223 done, 22223 succeeded, ${failed} failed, 0 errored, 0 timeout
`;

test('the rate is read from what h2load prints, unless requests failed', () => {
  assert.deepEqual(readH2load(H2LOAD(0)), { perSecond: 22_222.5, requests: 22_223, latency: null });
  assert.throws(() => readH2load(H2LOAD(1)), /requests failed/);
});
