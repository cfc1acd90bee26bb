import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { until } from '../../../../shared/runtime/testing/until.ts';
import type { Resource } from '../api/resource.ts';
import { INGRESS_CLASSES, INGRESSES } from '../objects/ingress.ts';
import { CLASSES_PATH, fakeIngress } from '../testing/fake-objects.ts';
import { fakeCluster } from '../testing/watched.ts';
import { ResourceStore } from './resource-store.ts';

const pathIn = (namespace: string) => `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`;

async function storing<T>(t: TestContext, resource: Resource<T>, namespaces: readonly string[] | null) {
  const world = await fakeCluster(t);
  const failures: [place: string, reason: string | null][] = [];
  const store = new ResourceStore<T>({
    ...world.parts,
    ...{ resource, namespaces, changed: () => undefined },
    failed: (place, reason) => failures.push([place, reason]),
  });
  return { ...world, store, failures };
}

const inNamespace = (namespace: string, name: string) => {
  const object = fakeIngress(name, `${name}.example`);
  return { ...object, metadata: { ...object.metadata, namespace } };
};

test('the objects of several namespaces are one map, complete once each namespace has been listed', async (t) => {
  const { server, store, run, failures } = await storing(t, INGRESSES, ['shop', 'blog']);
  server.put(pathIn('shop'), inNamespace('shop', 'one'));
  server.put(pathIn('blog'), { ...inNamespace('blog', 'two'), status: { loadBalancer: {} } });
  server.answer = ({ path }) => (path === pathIn('blog') ? { status: 403, message: 'no' } : undefined);
  run(store);
  await until('the refusal', () => failures.length > 0 && server.watching === 1);
  assert.equal(store.synced, false);
  assert.equal(failures[0]?.[0], pathIn('blog'));
  assert.match(failures[0]?.[1] ?? '', /forbids .*\/namespaces\/blog\/ingresses \(403\): no; bind the role of deploy\/kubernetes/);
  server.answer = () => undefined;
  await until('both', () => store.synced);
  assert.deepEqual([...store.objects().keys()], ['shop/one', 'blog/two']);
  assert.equal(store.size, 2);
  assert.deepEqual(store.status('blog/two')?.status, { loadBalancer: {} });
  assert.equal(store.status('blog/three'), undefined);
});

test('kinds without a namespace are listed once, not for each namespace', async (t) => {
  const { server, store, run } = await storing(t, INGRESS_CLASSES, ['shop', 'blog']);
  server.put(CLASSES_PATH, { metadata: { name: 'sluice' }, spec: { controller: 'sluice.dev/ingress-controller' } });
  run(store);
  await until('the list', () => store.synced);
  assert.deepEqual([...store.objects().keys()], ['/sluice']);
  assert.equal(server.asked(CLASSES_PATH, 'list').length, 1);
});
