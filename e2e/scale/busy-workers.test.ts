import assert from 'node:assert/strict';
import { Agent, get } from 'node:http';
import { test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { ask } from '../testing/http.ts';

const VISITORS = 16;

test('fully loaded workers never keep the main thread from responding', async () => {
  using folder = new Folder();
  await using dataplane = await Dataplane.start({ stateDir: folder.path, workers: 2 });
  await dataplane.route('busy.test', '127.0.0.1:9', { respond: { status: 200, body: 'x'.repeat(1_000) } });
  let served = 0;
  let running = true;
  const agent = new Agent({ keepAlive: true, maxSockets: VISITORS });
  const visitors = Array.from({ length: VISITORS }, async () => {
    while (running) if ((await once(dataplane.httpPort, agent)) === 200) served++;
  });
  try {
    await until('the load to run', () => served > 500);
    const before = served;
    // The load continues until all of these are answered.
    for (let asked = 0; asked < 100; asked++) assert.equal((await ask({ port: dataplane.adminPort }, '/health')).status, 200);
    assert.ok(served > before, 'there was load during the test');
    // Changes are applied as well: every worker acknowledges between two requests.
    await dataplane.route('new.test', '127.0.0.1:9', { respond: { status: 200, body: 'new' } });
    assert.equal((await dataplane.visit('new.test')).text, 'new');
    const status = JSON.parse((await dataplane.admin('GET', '/status')).text) as { workers: { serving: number; restarts: number } };
    assert.deepEqual([status.workers.serving, status.workers.restarts], [2, 0], 'a busy worker is not replaced');
  } finally {
    running = false;
    await Promise.all(visitors);
    agent.destroy();
  }
});

function once(port: number, agent: Agent): Promise<number> {
  return new Promise((resolve) => {
    const visit = get({ host: '127.0.0.1', port, headers: { host: 'busy.test' }, agent }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
      response.on('error', () => resolve(0));
    });
    visit.on('error', () => resolve(0));
  });
}
