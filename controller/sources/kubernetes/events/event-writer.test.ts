import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import { until } from '../../../../shared/runtime/testing/until.ts';
import { INGRESSES } from '../objects/ingress.ts';
import { readMeta } from '../objects/meta.ts';
import { fakeCluster } from '../testing/watched.ts';
import { EventWriter } from './event-writer.ts';
import type { Refusal } from './refusal.ts';

const PATH = '/apis/events.k8s.io/v1/namespaces/shop/events';
const MINUTE = 60_000;

const refusal = (name: string, message: string): Refusal => ({
  resource: INGRESSES,
  meta: readMeta({ namespace: 'shop', name, uid: `uid-${name}`, creationTimestamp: '2026-01-01T00:00:00Z' }),
  reason: 'NoBackend',
  message,
});

async function telling(t: TestContext) {
  const { server, cluster, parts, run } = await fakeCluster(t);
  const clock = new ManualClock();
  let mayWrite = true;
  const writer = new EventWriter({ ...parts, cluster, clock, identity: 'pod-1', mayWrite: () => mayWrite });
  run(writer);
  const written = (method: string) => server.requests.filter((one) => one.method === method);
  const setLeader = (is: boolean) => {
    mayWrite = is;
  };
  return { server, clock, writer, written, setLeader, log: parts.log };
}

test('a refusal is an Event of its object, once, however often it is found', async (t) => {
  const { writer, written } = await telling(t);
  for (let round = 0; round < 5; round++) writer.want([refusal('web', 'no such service')]);
  await until('the event', () => written('POST').length === 1);
  const [{ path, body } = { path: '', body: {} }] = written('POST');
  assert.equal(path, PATH);
  assert.partialDeepStrictEqual(body, {
    type: 'Warning',
    reason: 'NoBackend',
    note: 'no such service',
    reportingController: 'sluice.dev/ingress-controller',
    reportingInstance: 'pod-1',
    regarding: { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', namespace: 'shop', name: 'web', uid: 'uid-web' },
  });
  writer.want([refusal('web', 'no such service'), refusal('web', 'another mistake')]);
  await until('the other one', () => written('POST').length === 2);
});

test('one that lasts is repeated before it is forgotten, as a series of the same Event', async (t) => {
  const { server, writer, written, clock } = await telling(t);
  writer.want([refusal('web', 'no such service')]);
  await until('the event', () => written('POST').length === 1);
  for (const count of [2, 3]) {
    await until(`${count} times`, () => {
      clock.pass(MINUTE);
      return written('PATCH').length === count - 1;
    });
    await until('the series', () => {
      const { name } = (written('POST')[0]?.body.metadata ?? {}) as { name?: string };
      return (server.get(PATH, `shop/${name}`)?.series as { count: number } | undefined)?.count === count;
    });
  }
});

test('a refusal that comes and goes is reported again only after five minutes', async (t) => {
  const { writer, written, clock } = await telling(t);
  writer.want([refusal('web', 'no such service')]);
  await until('the event', () => written('POST').length === 1);
  writer.want([]);
  clock.pass(4 * MINUTE);
  writer.want([refusal('web', 'no such service'), refusal('other', 'a mistake')]);
  await until('another', () => written('POST').length === 2);
  assert.equal(written('PATCH').length, 0);
  writer.want([]);
  await until('the end', () => {
    clock.pass(MINUTE);
    writer.want(clock.monotonic() > 20 * MINUTE ? [refusal('web', 'no such service')] : []);
    return written('PATCH').length === 1;
  });
});

test('a mistake in very many objects is reported for fifty at once and then for five per second', async (t) => {
  const { writer, written, clock } = await telling(t);
  writer.want(Array.from({ length: 60 }, (_, at) => refusal(`i${at}`, 'wrong')));
  await until('the first ones', () => written('POST').length >= 51);
  assert.ok(written('POST').length <= 52, `${written('POST').length}`);
  await until('the others', () => {
    clock.pass(200);
    return written('POST').length === 60;
  });
});

test('only the leader reports, and a refusal that it may not write is logged once', async (t) => {
  const { server, writer, written, setLeader, log } = await telling(t);
  setLeader(false);
  writer.want([refusal('web', 'no such service')]);
  server.answer = ({ method }) => (method === 'POST' ? { status: 403, message: 'no events for you' } : undefined);
  assert.equal(written('POST').length, 0);
  setLeader(true);
  writer.lead();
  await until('the warning', () => log.lines.length > 0);
  writer.want([refusal('web', 'no such service'), refusal('other', 'wrong')]);
  await until('the second', () => written('POST').length === 2);
  assert.equal(log.lines.filter(({ level }) => level === 'warn').length, 1);
});
