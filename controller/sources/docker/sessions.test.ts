import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import { started } from './testing/docker-source.ts';
import { fakeId } from './testing/fake-container.ts';
import { RESYNC_MS } from './watch/reflector.ts';

const app = (number: number, domain: string) => ({ id: fakeId(number), name: `app-${number}`, labels: { 'sluice.domain': domain } });

test('a session leaves nothing behind that lasts as long as the controller runs', async (t) => {
  const short: Clock = { ...systemClock, after: (ms, task) => systemClock.after(ms === RESYNC_MS ? 50 : ms, task) };
  const { engine, next, stopping } = await started(t, short);
  engine.run(app(1, 'a.example'));
  await next('a.example=healthy');
  for (let renewals = 1; renewals <= 10; renewals++) await next('a.example=healthy');
  const { length } = getEventListeners(stopping.signal, 'abort');
  assert.ok(length <= 5, `${length} listeners after ${engine.count(/events/)} sessions`);
});
