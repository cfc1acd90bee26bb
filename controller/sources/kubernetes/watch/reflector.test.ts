import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Clock, systemClock } from '../../../../shared/runtime/clock.ts';
import { clockWithShortWaits } from '../../../../shared/runtime/testing/shortened-clock.ts';
import { until } from '../../../../shared/runtime/testing/until.ts';
import { GATEWAY_CLASSES, type GatewayClass } from '../objects/gateway.ts';
import { INGRESSES, type Ingress } from '../objects/ingress.ts';
import { fakeIngress, INGRESSES_PATH as PATH } from '../testing/fake-objects.ts';
import { fakeCluster } from '../testing/watched.ts';
import { Reflector } from './reflector.ts';

/** How long a reflector pauses after failures (ms). */
const [LEAST_PAUSE_MS, MOST_PAUSE_MS] = [50, 5_000];

/** The system's clock, except that timers of a minute or more elapse on the test's command. */
function clockWithLongTimers() {
  const long = new Set<() => void>();
  const after: Clock['after'] = (ms, task) => {
    if (ms < 60_000) return systemClock.after(ms, task);
    long.add(task);
    return () => void long.delete(task);
  };
  const elapse = (): boolean => {
    const due = [...long];
    for (const task of due) task();
    return due.length > 0;
  };
  return { clock: { ...systemClock, after }, elapse };
}

/** A reflector of Ingresses that has listed those of these names. */
async function reflecting(t: TestContext, names: readonly string[] = ['a', 'b'], clock: Clock = systemClock) {
  const world = await fakeCluster(t, clock);
  const { server, parts } = world;
  const put = (name: string, host = `${name}.example`) => server.put(PATH, fakeIngress(name, host));
  for (const name of names) put(name);
  const failures: (string | null)[] = [];
  const changes: string[] = [];
  const statuses: (string | null)[] = [];
  const hosts = () => [...reflector.objects.values()].map(({ rules }) => rules[0]?.host).join(' ');
  const reflector = new Reflector<Ingress>({
    ...parts,
    resource: INGRESSES,
    namespace: null,
    changed: () => changes.push(hosts()),
    statusChanged: (name) => statuses.push(name),
    failed: (reason) => failures.push(reason),
  });
  world.run(reflector);
  await until('the list and its watch', () => reflector.synced && server.watching === 1);
  const lists = () => server.asked(PATH, 'list').length;
  return { ...world, reflector, put, failures, changes, statuses, hosts, lists };
}

test('a list comes in pages, and the watch continues from its version, with bookmarks and a time limit', async (t) => {
  const names = Array.from({ length: 1_001 }, (_, at) => `i${String(at).padStart(4, '0')}`);
  const { server, reflector, lists } = await reflecting(t, names);
  assert.equal(reflector.objects.size, 1_001);
  assert.equal(lists(), 3);
  const [watch] = server.asked(PATH, 'watch');
  assert.equal(watch?.query.resourceVersion, '1002');
  assert.equal(watch?.query.allowWatchBookmarks, 'true');
  const seconds = Number(watch?.query.timeoutSeconds);
  assert.ok(seconds >= 240 && seconds <= 480, `${seconds}`);
});

test('a watch that is cut ten times loses no event, lists nothing again, and is no failure', async (t) => {
  const { server, hosts, put, lists, failures } = await reflecting(t);
  const names = ['a', 'b'];
  for (let round = 0; round < 10; round++) {
    server.cut();
    // This happens while there is no watch.
    put(`c${round}`);
    names.push(`c${round}`);
    const expected = names.map((name) => `${name}.example`).join(' ');
    await until(`round ${round}`, () => hosts() === expected && server.watching === 1);
  }
  server.delete(PATH, 'default/a');
  await until('the removal', () => !hosts().includes('a.example'));
  assert.deepEqual([failures, lists()], [[], 1]);
  const versions = server.asked(PATH, 'watch').map(({ query }) => Number(query.resourceVersion));
  assert.deepEqual(
    versions,
    [...versions].sort((a, b) => a - b),
  );
});

test('a watch that stays open but stalls is given up, and another one continues where it was', async (t) => {
  const { clock, elapse } = clockWithLongTimers();
  const { server, hosts, put, lists, failures, parts } = await reflecting(t, ['a'], clock);
  server.stall();
  put('b');
  put('c');
  // The server may know of the watch before its client does.
  await until('the client to wait for the watch', elapse);
  await until('what was missed', () => hosts() === 'a.example b.example c.example');
  assert.match(JSON.stringify(parts.log.lines), /has been silent for 150 s/);
  assert.deepEqual([failures, lists()], [[], 1]);
});

test('a bookmark moves the version to continue from, and is no change', async (t) => {
  const { server, changes, lists } = await reflecting(t);
  const { length } = changes;
  server.bookmark();
  server.bookmark();
  const newest = () => Math.max(...server.asked(PATH, 'watch').map(({ query }) => Number(query.resourceVersion)));
  await until('a watch from a bookmark', () => {
    server.endWatches();
    return newest() === 5;
  });
  assert.deepEqual([changes.length, lists()], [length, 1]);
});

test('a version that is too old is the only reason to list again, whether reported during a watch or at its start', async (t) => {
  const { server, hosts, put, lists } = await reflecting(t);
  server.expire();
  await until('a second list', () => lists() === 2 && server.watching === 1);
  await server.stop();
  server.delete(PATH, 'default/a');
  put('c');
  server.compact();
  await server.start();
  await until('a third list', () => hosts() === 'b.example c.example');
  assert.equal(lists(), 3);
});

test('a list whose later pages have expired starts over, and nothing of it counts before it is complete', async (t) => {
  const { server, reflector, put, hosts, changes } = await reflecting(t);
  const before = changes.length;
  for (let at = 0; at < 600; at++) put(`p${at}`);
  await until('all of them', () => reflector.objects.size === 602);
  const sizes = new Set<number>();
  let expired = 0;
  server.answer = ({ query }) => {
    sizes.add(reflector.objects.size);
    if (query.continue === undefined || expired === 2) return undefined;
    expired += 1;
    return { status: 410, message: 'The provided continue parameter is too old' };
  };
  server.delete(PATH, 'default/p0');
  await until('the removal', () => reflector.objects.size === 601);
  reflector.relist();
  await until('the list that succeeds', () => expired === 2 && server.watching === 1 && server.asked(PATH, 'list').length === 7);
  assert.equal(reflector.objects.size, 601);
  assert.deepEqual(
    [...sizes].filter((size) => size < 601),
    [],
  );
  assert.ok(hosts().startsWith('a.example b.example') && changes.length > before);
});

test('while the server is unavailable everything stays, and changes in the meantime are found afterwards', async (t) => {
  const { server, hosts, put, lists, failures } = await reflecting(t);
  await server.stop();
  put('c');
  server.delete(PATH, 'default/a');
  await until('the failure', () => failures.length > 2);
  assert.equal(hosts(), 'a.example b.example');
  await server.start();
  await until('what happened', () => hosts() === 'b.example c.example');
  assert.equal(failures.at(-1), null);
  assert.equal(lists(), 1);
});

test('a server that has gone back to an older version is listed again, whether it was unavailable or is silent', async (t) => {
  const { clock, elapse } = clockWithLongTimers();
  const { server, hosts, put, lists } = await reflecting(t, ['a', 'b'], clock);
  for (const [round, isStopped] of [true, false].entries()) {
    for (const name of ['c', 'd', 'e']) put(name);
    await until('all of them', () => hosts().endsWith('c.example d.example e.example'));
    const before = lists();
    if (isStopped) await server.stop();
    else server.stall();
    server.goBackTo(3 + round);
    put(`new${round}`);
    if (isStopped) await server.start();
    else await until('the client to give up the watch', elapse);
    await until(
      'what the server has',
      () => hosts() === ['a', 'b', ...(round > 0 ? ['new0'] : []), `new${round}`].map((name) => `${name}.example`).join(' '),
    );
    assert.equal(lists(), before + 1);
  }
});

test('a server that refuses is asked less and less often, and then continues', async (t) => {
  const { clock, waits } = clockWithShortWaits(LEAST_PAUSE_MS, MOST_PAUSE_MS);
  const { server, hosts, put, lists, failures } = await reflecting(t, undefined, clock);
  server.answer = ({ query }) => (query.watch === 'true' ? { status: 503 } : undefined);
  server.cut();
  await until('many failures', () => failures.length >= 8);
  put('c');
  server.answer = () => undefined;
  await until('the new one', () => hosts().endsWith('c.example'));
  assert.equal(lists(), 1);
  const [first = 0, , third = 0, , fifth = 0, , seventh = 0] = waits;
  assert.ok(first < third && third < fifth && fifth < seventh, waits.join());
});

test('an object that changes only in unused parts counts as unchanged, and stays the same object', async (t) => {
  const { server, reflector, changes, statuses, put } = await reflecting(t);
  const before = reflector.objects.get('default/a');
  const { length } = changes;
  const object = server.get(PATH, 'default/a');
  assert.ok(object && before);
  server.put(PATH, { ...object, status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } });
  await until('the status', () => statuses.includes('default/a'));
  assert.equal(reflector.objects.get('default/a'), before);
  assert.equal(changes.length, length);
  assert.deepEqual(reflector.statuses.get('default/a')?.status, { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } });
  put('a', 'other.example');
  await until('the change', () => changes.length > length);
  assert.notEqual(reflector.objects.get('default/a'), before);
  const unchanged = reflector.objects.get('default/b');
  assert.ok(unchanged);
  reflector.relist();
  await until('the second list', () => server.asked(PATH, 'list').length === 2);
  await until('its end', () => changes.length > length + 1);
  assert.equal(reflector.objects.get('default/b'), unchanged);
});

test('a server that answers 404 to everything, as a load balancer does, says nothing about which kinds are defined', async (t) => {
  const { server, parts, run } = await fakeCluster(t, clockWithShortWaits(LEAST_PAUSE_MS, MOST_PAUSE_MS).clock);
  server.put('/apis/gateway.networking.k8s.io/v1/gatewayclasses', { metadata: { name: 'sluice' }, spec: { controllerName: 'any' } });
  const failures: (string | null)[] = [];
  const reflector = new Reflector<GatewayClass>({
    ...{ ...parts, resource: GATEWAY_CLASSES, namespace: null },
    changed: () => undefined,
    failed: (reason) => failures.push(reason),
  });
  const state = () => [reflector.synced, reflector.isUnknown, reflector.objects.size];
  server.answer = () => ({ status: 404 });
  run(reflector);
  await until('two failures', () => failures.length >= 2);
  assert.deepEqual(state(), [false, false, 0]);
  server.answer = () => undefined;
  await until('the list and its watch', () => reflector.synced && server.watching === 1);
  server.answer = () => ({ status: 404 });
  const { length } = failures;
  server.cut();
  await until('two more', () => failures.length >= length + 2);
  assert.deepEqual(state(), [true, false, 1]);
  server.answer = ({ path }) => ({ status: path.endsWith('/gatewayclasses') ? 404 : 403 });
  await until('the kind to be gone', () => reflector.isUnknown);
  assert.deepEqual(state(), [true, true, 0]);
});
