import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { Upstream } from '../testing/upstream.ts';

/** Longer than the time limit of the route (ms), which is one second. */
const STOPPED_MS = 2_500;

test('a response that arrives while the process is stopped, as when a machine is suspended, is not taken for a late one', async () => {
  using folder = new Folder();
  let respond = (): unknown => undefined;
  await using upstream = await Upstream.start('slow', (_, response) => {
    respond = () => response.end('in time');
  });
  await using dataplane = await Dataplane.start({ stateDir: folder.path, workers: 1 });
  await dataplane.route('slow.test', upstream.address, { transport: { response_header_timeout_secs: 1 } });
  const visit = dataplane.visit('slow.test');
  await until('the request to be under way', () => upstream.requests === 1);
  process.kill(dataplane.program.pid, 'SIGSTOP');
  respond();
  await pause(STOPPED_MS);
  process.kill(dataplane.program.pid, 'SIGCONT');
  assert.equal((await visit).text, 'in time');
});
