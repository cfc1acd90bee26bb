import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { connectionKey } from '../ledger/connections.ts';
import { insideOneWorker, WorkersFixture } from './testing/test-workers.ts';

test('the connections of a dead worker are no longer counted, and those of other workers are', async () => {
  await using fixture = await WorkersFixture.start(2, [
    { domain: 'a.test', upstream: null, tls: false, respond: { status: 200, body: 'x' } },
  ]);
  const { connections } = fixture.ledger;
  const clients: Socket[] = [];
  for (let at = 0; at < 40; at++) clients.push(connect({ host: '127.0.0.1', port: fixture.port }));
  let closed = 0;
  for (const client of clients) client.on('error', () => client.destroy()).on('close', () => closed++);
  await until('all to be counted', () => connections.open() === 40);
  await insideOneWorker('process.exit(1)');
  await until('another worker', () => fixture.workers.restarts === 1 && fixture.workers.serving === 2);
  await until('the connections of the dead one to end', () => closed > 0 && closed < 40 && connections.open() === 40 - closed);
  assert.equal(connections.openFrom(connectionKey('127.0.0.1')), 40 - closed);
  for (const client of clients) client.destroy();
  await until('none to be open', () => connections.open() === 0 && connections.openFrom(connectionKey('127.0.0.1')) === 0);
});
