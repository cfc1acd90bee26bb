import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ask } from '../harness/http.ts';
import { REPOSITORY } from '../harness/process.ts';
import { until } from '../harness/until.ts';
import { Cluster, clusterNetwork } from './harness/cluster.ts';
import { app, ingress } from './harness/objects.ts';
import { rolledOut } from './harness/rollout.ts';
import { Visitors } from './harness/visitors.ts';

const skip = clusterNetwork();
const SERVICE = ['sluice', 'sluice'] as const;

let cluster: Cluster;
before(async () => {
  if (skip !== undefined) return;
  cluster = await Cluster.start();
  await cluster.kubectl(['apply', '-k', `${REPOSITORY}/deploy/kubernetes/gateway`]);
  await rolledOut(cluster, 'sluice', 'sluice');
});
after(() => cluster?.[Symbol.asyncDispose]());

/** Waits until every pod of Sluice serves it. */
async function serves(host: string): Promise<void> {
  for (const { address } of cluster.kubelet.processPods('sluice').values())
    await until(`${host} to be served`, async () => (await ask({ host: address, port: 8080 }, '/', { headers: { host } })).status === 200);
}

/** The log lines of Sluice about a host. */
const logged = (host: string): string =>
  [...cluster.kubelet.processPods('sluice').values()]
    .flatMap((pod) => ['dataplane', 'controller'].flatMap((name) => pod.container(name).output.split('\n')))
    .filter((line) => line.includes(host))
    .join('\n');

/** Ends visitors that must not have lost a request. */
async function lostNothing(visitors: Visitors): Promise<void> {
  const failures = await visitors.end();
  assert.equal(failures.length, 0, `${failures.join('\n')}\n${logged(visitors.host)}`);
}

describe('behind the manifests of deploy/kubernetes/gateway', { skip }, () => {
  test('an app that stops listening as soon as it gets SIGTERM is replaced, and scaled up and down, without a lost request', async () => {
    await cluster.apply(
      ...app({ name: 'busy' }, { replicas: 3 }),
      ingress({ name: 'busy' }, 'busy.test', [{ path: '/', service: 'busy' }]),
    );
    await serves('busy.test');
    const visitors = await Visitors.start(cluster, SERVICE, 'busy.test');
    await visitors.more(100);
    for (const change of [
      ['rollout', 'restart', 'deployment/busy'],
      ['scale', 'deployment/busy', '--replicas=6'],
      ['scale', 'deployment/busy', '--replicas=1'],
      ['rollout', 'restart', 'deployment/busy'],
    ]) {
      await cluster.kubectl(change);
      await rolledOut(cluster, 'default', 'busy');
      await visitors.more(100);
    }
    await lostNothing(visitors);
  });

  test('a rollout of Sluice itself loses no request', async () => {
    await cluster.apply(
      ...app({ name: 'kept' }, { replicas: 2 }),
      ingress({ name: 'kept' }, 'kept.test', [{ path: '/', service: 'kept' }]),
    );
    await serves('kept.test');
    const visitors = await Visitors.start(cluster, SERVICE, 'kept.test');
    await visitors.more(100);
    const before = new Set(cluster.kubelet.processPods('sluice').keys());
    await cluster.kubectl(['-n', 'sluice', 'rollout', 'restart', 'deployment/sluice']);
    await rolledOut(cluster, 'sluice', 'sluice');
    await visitors.more(100);
    await lostNothing(visitors);
    for (const name of cluster.kubelet.processPods('sluice').keys()) assert.ok(!before.has(name), `${name} is a new pod`);
  });
});
