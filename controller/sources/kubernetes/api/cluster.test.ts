import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../../../shared/runtime/clock.ts';
import { fakeIngress, INGRESSES_PATH as PATH } from '../testing/fake-objects.ts';
import { fakeCluster } from '../testing/watched.ts';
import { ApiFailure } from './api-failure.ts';
import { openCluster } from './cluster.ts';

const { signal } = new AbortController();

test('reports the namespace of its account, and what is missing in a kubeconfig', async (t) => {
  const { cluster } = await fakeCluster(t);
  assert.equal(cluster.namespace, 'sluice');
  const folder = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const kubeconfig = join(folder, 'config');
  await assert.rejects(openCluster({ kubeconfig, clock: systemClock }), /^Error: the kubeconfig .*config can’t be read: .*ENOENT/);
  writeFileSync(kubeconfig, '{"apiVersion":"v1","kind":"Config","clusters":[],"users":[],"contexts":[]}');
  await assert.rejects(openCluster({ kubeconfig, clock: systemClock }), /has no current context with a cluster/);
});

test('refusals say what is wrong and what to do, with the time that the server asks to wait', async (t) => {
  const { server, cluster } = await fakeCluster(t);
  const list = () => cluster.list(PATH, {}, signal);
  const cases: [status: number, expected: RegExp][] = [
    [401, /refuses the credentials \(401\); renew the kubeconfig/],
    [403, /forbids .*ingresses \(403\): no way; bind the role of deploy\/kubernetes/],
    [500, /answers 500 to .*ingresses: no way/],
  ];
  for (const [status, expected] of cases) {
    server.answer = () => ({ status, message: 'no way' });
    await assert.rejects(list(), (error) => error instanceof ApiFailure && error.status === status && expected.test(error.message));
  }
  server.answer = () => ({ status: 429, retryAfter: '7' });
  await assert.rejects(list(), (error) => error instanceof ApiFailure && error.retryAfterMs === 7_000);
  server.answer = () => ({ status: 429, retryAfter: 'Wed, 21 Oct 2026 07:28:00 GMT' });
  await assert.rejects(list(), (error) => error instanceof ApiFailure && error.retryAfterMs === 0);
});

test('a server that can’t be reached is reported as such, without a status', async (t) => {
  const { server, cluster } = await fakeCluster(t);
  await server.stop();
  await assert.rejects(
    cluster.list(PATH, {}, signal),
    (error) => error instanceof ApiFailure && error.status === null && /can’t be reached: nothing listens there/.test(error.message),
  );
});

test('writes use connections that are kept open, and the response is the object', async (t) => {
  const { server, cluster } = await fakeCluster(t);
  server.put(PATH, fakeIngress('web', 'web.example'));
  const path = `${PATH.replace('/ingresses', '/namespaces/default/ingresses')}/web/status`;
  for (let round = 0; round < 20; round++) {
    const body = { status: { round } };
    const written = await cluster.send({ method: 'PATCH', path, query: { fieldManager: 'sluice' }, body }, signal);
    assert.partialDeepStrictEqual(written, { metadata: { name: 'web' }, status: { round } });
  }
  assert.ok(server.connections <= 2, `${server.connections}`);
});
