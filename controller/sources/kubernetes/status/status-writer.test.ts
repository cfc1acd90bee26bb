import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { until } from '../../../../shared/runtime/testing/until.ts';
import { INGRESSES } from '../objects/ingress.ts';
import { readMeta } from '../objects/meta.ts';
import type { SeenRequest } from '../testing/fake-api-server.ts';
import { fakeIngress, INGRESSES_PATH as PATH } from '../testing/fake-objects.ts';
import { fakeCluster } from '../testing/watched.ts';
import { ResourceStore } from '../watch/resource-store.ts';
import type { DesiredStatus, StatusContext } from './desired-status.ts';
import { StatusWriter } from './status-writer.ts';

type Build = (context: StatusContext) => Readonly<Record<string, unknown>> | undefined;

/** A status writer, allowed to write, for Ingresses with these names. */
async function writing(t: TestContext, names: readonly string[]) {
  const world = await fakeCluster(t);
  const { server, cluster, parts } = world;
  for (const name of names) server.put(PATH, fakeIngress(name, `${name}.example`));
  let mayWrite = true;
  const store = new ResourceStore({
    ...parts,
    ...{ resource: INGRESSES, namespaces: null, changed: () => undefined, failed: () => undefined },
    statusChanged: (name) => writer.changed(INGRESSES, name),
  });
  const writer = new StatusWriter({ ...parts, cluster, seen: (_, key) => store.status(key), mayWrite: () => mayWrite });
  world.run(store);
  world.run(writer);
  await until('the list and its watch', () => store.synced && server.watching === 1);
  const want = (build: Build, of = names) =>
    writer.want(
      of.map((name) => statusOf(name, build)),
      new Map(),
    );
  const statusOf = (name: string, build: Build): DesiredStatus => ({
    resource: INGRESSES,
    meta: readMeta((server.get(PATH, `default/${name}`) ?? assert.fail(name)).metadata as never),
    build,
  });
  const written = () => server.requests.filter(({ method }) => method === 'PATCH');
  const status = (name: string) => server.get(PATH, `default/${name}`)?.status;
  const setLeader = (is: boolean) => {
    mayWrite = is;
  };
  return { ...world, store, writer, want, written, status, setLeader };
}

const addressed =
  (ip: string): Build =>
  () => ({ loadBalancer: { ingress: [{ ip }] } });
const WRITTEN = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } };

test('writes a status to its object as a merge patch that names the version and the object, and once', async (t) => {
  const { server, want, written, status } = await writing(t, ['a']);
  const before = server.get(PATH, 'default/a')?.metadata;
  want(addressed('192.0.2.1'));
  await until('the status', () => written().length > 0);
  const { path, query, body } = written()[0] as SeenRequest;
  assert.deepEqual([path, query.fieldManager], [`${PATH.replace('/ingresses', '/namespaces/default/ingresses')}/a/status`, 'sluice']);
  assert.deepEqual(body, { metadata: { uid: before?.uid, resourceVersion: before?.resourceVersion }, status: WRITTEN });
  await until('its result', () => status('a') !== undefined);
  // A write to a second object shows that the first one has been checked again.
  want(addressed('192.0.2.1'));
  want(addressed('192.0.2.1'));
  server.put(PATH, fakeIngress('b', 'b.example'));
  assert.equal(written().length, 1);
});

test('only the newest of many statuses wanted in a row is written, with at most eight concurrent writes', async (t) => {
  const names = Array.from({ length: 100 }, (_, at) => `i${at}`);
  const { server, want, written, status } = await writing(t, names);
  for (let round = 0; round < 50; round++) want(addressed(`192.0.2.${round}`));
  want(addressed('192.0.2.99'));
  await until('all of them', () => names.every((name) => JSON.stringify(status(name) ?? null).includes('192.0.2.99')));
  assert.ok(written().length < names.length * 2, `${written().length}`);
  assert.ok(server.mostAtOnce <= 8 + 1, `${server.mostAtOnce}`);
});

test('members that another controller overwrites are restored, and other members stay', async (t) => {
  const { server, want, status } = await writing(t, ['a']);
  want(addressed('192.0.2.1'));
  await until('the status', () => status('a') !== undefined);
  const object = server.get(PATH, 'default/a') ?? assert.fail();
  server.put(PATH, { ...object, status: { loadBalancer: { ingress: [{ ip: '192.0.2.66' }] }, other: 1 } });
  await until('the same again', () => JSON.stringify(status('a')) === JSON.stringify({ ...WRITTEN, other: 1 }));
});

test('a conflict is judged again with the newer status', async (t) => {
  const { server, want, written, status } = await writing(t, ['a']);
  let tries = 0;
  server.answer = ({ method, path }) => {
    if (method !== 'PATCH' || tries > 0) return undefined;
    tries += 1;
    // Another writer is quicker.
    const object = server.get(PATH, 'default/a') ?? assert.fail(path);
    server.put(PATH, { ...object, status: { parents: ['theirs'] } });
    return undefined;
  };
  want(({ current }) => ({ parents: [...((current.parents as string[] | undefined) ?? []).filter((one) => one !== 'ours'), 'ours'] }));
  await until('both', () => JSON.stringify(status('a')) === '{"parents":["theirs","ours"]}');
  assert.equal(written().length, 2);
});

test('a server that is busy is left alone for as long as it asks, and a refused status is not tried again', async (t) => {
  const { server, want, written, status, parts } = await writing(t, ['a', 'b', 'c']);
  let busy = 2;
  server.answer = ({ method, path }) => {
    if (method !== 'PATCH') return undefined;
    if (path.includes('/b/')) return { status: 422, message: 'invalid' };
    return busy-- > 0 ? { status: 429, retryAfter: '0' } : undefined;
  };
  want(addressed('192.0.2.1'));
  await until('the others', () => status('a') !== undefined && status('c') !== undefined);
  await until('the refusal', () => parts.log.lines.some(({ message }) => message === 'a status can’t be written'));
  assert.equal(written().filter(({ path }) => path.includes('/b/')).length, 1);
});

test('only the leader writes, everything once it is one, and nothing any more when it no longer is', async (t) => {
  const { want, writer, written, status, setLeader } = await writing(t, ['a', 'b']);
  setLeader(false);
  want(addressed('192.0.2.1'));
  writer.judgeAll();
  assert.equal(written().length, 0);
  setLeader(true);
  writer.judgeAll();
  await until('both', () => status('a') !== undefined && status('b') !== undefined);
  setLeader(false);
  const { length } = written();
  want(addressed('192.0.2.2'));
  assert.equal(written().length, length);
});

test('knows what an earlier process wrote, the addresses, and the refusals; another object of the same name is left alone', async (t) => {
  const { server, store, writer, want, status } = await writing(t, ['a']);
  const seen: StatusContext[] = [];
  const build: Build = (context) => {
    seen.push(context);
    return { told: context.addresses?.length ?? -1 };
  };
  want(build);
  await until('the status', () => JSON.stringify(status('a')) === '{"told":-1}');
  writer.publish([{ kind: 'ip', value: '192.0.2.1' }]);
  await until('another', () => JSON.stringify(status('a')) === '{"told":1}');
  await until('ours', () => store.status('default/a')?.isWritten === true);
  assert.equal(seen[0]?.isWritten, false);
  assert.match(seen[0]?.now ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  server.delete(PATH, 'default/a');
  server.put(PATH, fakeIngress('a', 'a.example'));
  await until('the new one', () => store.status('default/a')?.isWritten === false);
  writer.publish([]);
  assert.equal(status('a'), undefined);
});
