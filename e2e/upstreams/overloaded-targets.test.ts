import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';
import { Upstream } from '../testing/upstream.ts';

/** GETs over one HTTP/2 connection, all at once. @returns their statuses. */
async function statusesOverHttp2(port: number, host: string, count: number): Promise<number[]> {
  const session = connect(`http://127.0.0.1:${port}`);
  try {
    return await Promise.all(
      Array.from({ length: count }, async () => {
        const stream = session.request({ ':authority': host, ':path': '/' });
        const [head] = (await once(stream, 'response')) as [Readonly<Record<string, number>>];
        await once(stream.resume(), 'close');
        return head[':status'] ?? 0;
      }),
    );
  } finally {
    session.close();
  }
}

/** An upstream that takes a while for each request and records how many it had at once. */
class Counting {
  now = 0;
  most = 0;
  upstream!: Upstream;

  static async start(): Promise<Counting> {
    const counting = new Counting();
    counting.upstream = await Upstream.start('counting', (_, response) => {
      counting.now++;
      counting.most = Math.max(counting.most, counting.now);
      setTimeout(() => {
        counting.now--;
        response.end('ok');
      }, 5);
    });
    return counting;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.upstream[Symbol.asyncDispose]();
  }
}

const site = (lines: string): string => `site.test {\n  reverse_proxy ${lines}\n}\n`;
const LIMIT = 3;

describe('overloaded targets', () => {
  const folder = new Folder();
  let pair: Pair;
  before(async () => {
    pair = await Pair.start(folder, '');
  });
  after(async () => {
    await pair?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('a target never has more requests at once than its limit, across all workers and protocols, and no waiting request is lost', async () => {
    await using counting = await Counting.start();
    await pair.serve(site(`${counting.upstream.address} {\n    max_in_flight ${LIMIT}\n    queue 1000 60s\n  }`));
    // Each connection reaches either of the two workers.
    const [own, modern] = await Promise.all([
      Promise.all(Array.from({ length: 150 }, async () => (await pair.visit('site.test')).status)),
      Promise.all(Array.from({ length: 6 }, () => statusesOverHttp2(pair.httpPort, 'site.test', 25))),
    ]);
    assert.deepEqual(new Set([...own, ...modern.flat()]), new Set([200]));
    assert.equal(counting.most, LIMIT);
    pair.write(site(`${counting.upstream.address} {\n    max_in_flight 1\n  }`));
    await until('a request to be refused', async () => {
      const statuses = await Promise.all(Array.from({ length: 10 }, async () => (await pair.visit('site.test')).status));
      return statuses.includes(503) && statuses.includes(200);
    });
    assert.match((await pair.admin('/metrics')).text, /sluice_upstream_failures_total\{[^}]*reason="at_limit"\} [1-9]/);
  });

  test('a target whose requests fail too often leaves the rotation, and visitors of the others do not notice', async () => {
    let status = 503;
    await using flaky = await Upstream.start('flaky', (_, response) => {
      response.statusCode = status;
      response.end('flaky');
    });
    await using good = await Upstream.start('good', (_, response) => response.end('good'));
    const options = '{\n    lb_retry_status 503\n    circuit_breaker 50% 4\n    fail_duration 1s\n  }';
    await pair.serve(site(`${flaky.address} ${good.address} ${options}`));
    for (let nth = 0; nth < 40; nth++) assert.equal((await pair.visit('site.test')).text, 'good');
    // Each worker judges by its own requests, and a worker that ejects the target does so for both.
    assert.ok(flaky.requests < 20, `${flaky.requests}`);
    // After each second one request tries the target again, so that the alert may be gone until that request has failed.
    await until('the alert', async () => {
      assert.equal((await pair.visit('site.test')).text, 'good');
      return /pool_degraded.*the target answers with a status that counts as a failure/.test((await pair.admin('/alerts')).text);
    });
    status = 200;
    await until('it to be back', async () => (await pair.visit('site.test')).text === 'flaky');
    await until('the alert to be over', async () => !(await pair.admin('/alerts')).text.includes('pool_degraded'));
  });
});
