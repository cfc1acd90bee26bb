import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CertificatesFixture } from '../../dataplane/traffic/testing/certificates.ts';
import { ask } from '../harness/http.ts';
import { REPOSITORY } from '../harness/process.ts';
import { until } from '../harness/until.ts';
import { Cluster, clusterNetwork } from './harness/cluster.ts';
import { allowedBy, type Role } from './harness/granted.ts';
import { app, ingress, tlsSecret } from './harness/objects.ts';
import type { ProcessPod } from './harness/pods/process-pod.ts';
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

function onePod(): ProcessPod {
  const [pod] = cluster.kubelet.processPods('sluice').values();
  assert.ok(pod, 'a pod of Sluice');
  return pod;
}

/** A request to one pod, at the port to which the Service sends port 80. */
const visit = (host: string, path = '/') => ask({ host: onePod().address, port: 8080 }, path, { headers: { host } });

const serves = (host: string) => until(`${host} to be served`, async () => (await visit(host)).status === 200);

/** What Sluice has logged about a host. */
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

describe('the manifests of deploy/kubernetes/gateway', { skip }, () => {
  test('run as a user without privileges on a read-only root, in a namespace that requires it', async () => {
    for (const name of ['dataplane', 'controller']) {
      const container = onePod().container(name);
      const { output } = await container.exec(['sh', '-c', 'id -u; grep CapEff /proc/1/status; touch /opt/x']);
      assert.match(output, /^10001\nCapEff:\s+0{16}\n.*Read-only file system/s, name);
      assert.equal(container.restarts, 0, name);
    }
    const account = '/var/run/secrets/kubernetes.io/serviceaccount/token';
    assert.equal((await onePod().container('controller').exec(['test', '-s', account])).code, 0);
    assert.equal((await onePod().container('dataplane').exec(['test', '-e', account])).code, 1, 'the data plane has no account');
  });

  test('serve an Ingress, and redirect it to the public HTTPS port once its Secret is there', async () => {
    using authority = new CertificatesFixture();
    await cluster.apply(...app({ name: 'shop' }, { replicas: 3 }));
    const tls = [{ hosts: ['shop.test'], secretName: 'shop' }];
    await cluster.apply(ingress({ name: 'shop' }, 'shop.test', [{ path: '/', service: 'shop' }], { tls }));
    await serves('shop.test');
    await cluster.apply(tlsSecret({ name: 'shop' }, authority.issue('shop.test')));
    const redirected = await until('the redirect', async () => {
      const response = await visit('shop.test', '/a');
      return response.status === 308 ? response : undefined;
    });
    assert.equal(redirected.headers.location, 'https://shop.test/a');
    const ports = await cluster.kubectl(['-n', 'sluice', 'get', 'service', 'sluice', '-o', 'jsonpath={.spec.ports[*].targetPort}']);
    const slices = await cluster.kubectl(['-n', 'sluice', 'get', 'endpointslices', '-o', 'jsonpath={.items[0].ports[*].port}']);
    assert.equal(ports, 'http https');
    assert.deepEqual(slices.split(' ').sort(), ['8080', '8443']);
  });

  test('order no certificate for an Ingress without a Secret, since several replicas share an address, and say so', async () => {
    await cluster.apply(...app({ name: 'auto' }));
    const tls = [{ hosts: ['auto.example.com'] }];
    await cluster.apply(ingress({ name: 'auto' }, 'auto.example.com', [{ path: '/', service: 'auto' }], { tls }));
    await serves('auto.example.com');
    const { output } = await onePod().container('dataplane').exec(['sluice', 'explain', 'auto.example.com']);
    assert.match(output, /no certificates are ordered \(--no-acme\).*TLS Secrets/);
  });

  test('grant the controller exactly the requests that it makes', async () => {
    const role = JSON.parse(await cluster.kubectl(['get', 'clusterrole', 'sluice', '-o', 'json'])) as Role;
    await until('each request that is granted to be made', () => {
      const made = cluster.requestsOfAccounts();
      return [...allowedBy(role)].every((one) => made.has(one));
    });
    assert.deepEqual([...cluster.requestsOfAccounts()].sort(), [...allowedBy(role)].sort());
  });

  test('an app that stops listening as soon as it is told to end is replaced, and scaled up and down, without a lost request', async () => {
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
