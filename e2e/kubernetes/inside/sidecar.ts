import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../../shared/runtime/testing/until.ts';
import { ask } from '../../testing/http.ts';
import { REPOSITORY } from '../../testing/process.ts';
import { type Cluster, clusterNetwork } from '../testing/cluster.ts';
import { restart, rolledOut } from '../testing/rollout.ts';
import { joinCluster, leaveCluster } from '../testing/shared-cluster.ts';
import { Visitors } from '../testing/visitors.ts';

const skip = clusterNetwork();
const RESTRICTED = { 'pod-security.kubernetes.io/enforce': 'restricted' };

let cluster: Cluster;
before(async () => {
  if (skip !== undefined) return;
  cluster = await joinCluster();
  // Pods that already run stay; those of a rollout are admitted, or not.
  await cluster.api('PATCH', '/api/v1/namespaces/default', { metadata: { labels: RESTRICTED } }, 'application/merge-patch+json');
  await cluster.kubectl(['apply', '-k', `${REPOSITORY}/deploy/kubernetes/sidecar`]);
  await rolledOut(cluster, 'default', 'app');
});
after(() => leaveCluster(cluster));

const pods = () => [...cluster.kubelet.processPods('default').values()];

describe('Sluice as a sidecar', { skip }, () => {
  test('serves the app of its pod, which no one else can reach', async () => {
    for (const { address } of pods()) {
      const answer = await ask({ host: address, port: 8080 }, '/x', { headers: { host: 'shop.test' } });
      assert.deepEqual([answer.status, answer.headers['x-robots-tag']], [200, 'noindex']);
      assert.equal((JSON.parse(answer.text) as { path: string }).path, '/x');
      await assert.rejects(ask({ host: address, port: 3000 }, '/'), /ECONNREFUSED/);
    }
  });

  test('follows its ConfigMap without a restart', async () => {
    const Sluicefile = '* {\n  reverse_proxy 127.0.0.1:3000\n  header X-Robots-Tag none\n}\n';
    const path = '/api/v1/namespaces/default/configmaps/app-sluice';
    await cluster.api('PATCH', path, { data: { Sluicefile } }, 'application/merge-patch+json');
    for (const pod of pods()) {
      await until('the new header', async () => (await ask({ host: pod.address, port: 8080 }, '/')).headers['x-robots-tag'] === 'none');
      assert.equal(pod.container('sluice').restarts, 0);
      assert.match((await pod.container('sluice').exec(['sluice', 'status'])).output, /Nothing is wrong/);
    }
  });

  test('a rollout of the app loses no request', async () => {
    const visitors = await Visitors.start(cluster, ['default', 'app'], 'shop.test');
    await visitors.more(100);
    await restart(cluster, 'default', 'app');
    await rolledOut(cluster, 'default', 'app');
    await visitors.more(100);
    assert.deepEqual(await visitors.end(), []);
  });
});
