import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CertificatesFixture } from '../../../dataplane/traffic/testing/certificates.ts';
import { until } from '../../../shared/runtime/testing/until.ts';
import { ask } from '../../testing/http.ts';
import { REPOSITORY } from '../../testing/process.ts';
import { type Cluster, clusterNetwork } from '../testing/cluster.ts';
import { allowedBy, type Role } from '../testing/granted.ts';
import type { KubernetesObject } from '../testing/object-path.ts';
import { app, GATEWAY_CLASS, gatewayObject, ingress, tlsSecret } from '../testing/objects.ts';
import type { ProcessPod } from '../testing/pods/process-pod.ts';
import { restart, rolledOut, scale } from '../testing/rollout.ts';
import { joinCluster, leaveCluster } from '../testing/shared-cluster.ts';
import { Visitors } from '../testing/visitors.ts';

type List<T> = { readonly items: readonly T[] };
type Service = { readonly spec: { readonly ports: readonly { readonly targetPort: string }[] } };
type Slice = { readonly ports: readonly { readonly port: number }[] };
type Event = { readonly message: string };
type Lease = { readonly spec: { readonly holderIdentity: string } };

const skip = clusterNetwork();
const SERVICE = ['sluice', 'sluice'] as const;

let cluster: Cluster;
before(async () => {
  if (skip !== undefined) return;
  cluster = await joinCluster();
  await cluster.defineGateways();
  await cluster.apply(GATEWAY_CLASS);
  await cluster.kubectl(['apply', '-k', `${REPOSITORY}/deploy/kubernetes/gateway`]);
  await rolledOut(cluster, 'sluice', 'sluice');
});
after(() => leaveCluster(cluster));

function onePod(): ProcessPod {
  const [pod] = cluster.kubelet.processPods('sluice').values();
  assert.ok(pod, 'a pod of Sluice');
  return pod;
}

/** A request to one pod, at the port to which the Service sends port 80. */
const visit = (host: string, path = '/') => ask({ host: onePod().address, port: 8080 }, path, { headers: { host } });

const serves = (host: string) => until(`${host} to be served`, async () => (await visit(host)).status === 200);

/** An object of each kind of the Gateway API that gets a status. */
function oneOfEach(): KubernetesObject[] {
  const http = { name: 'http', protocol: 'HTTP', port: 80 };
  const backendRefs = [{ name: 'shop', port: 80 }];
  const parentRefs = [{ name: 'each' }];
  const targetRefs = [{ group: '', kind: 'Service', name: 'shop' }];
  return [
    gatewayObject('Gateway', 'each', {
      gatewayClassName: 'sluice',
      listeners: [http],
      allowedListeners: { namespaces: { from: 'Same' } },
    }),
    gatewayObject('ListenerSet', 'each', { parentRef: { name: 'each' }, listeners: [{ ...http, name: 'more', hostname: 'more.test' }] }),
    gatewayObject('HTTPRoute', 'each', { parentRefs, rules: [{ backendRefs }] }),
    gatewayObject('GRPCRoute', 'each', { parentRefs, hostnames: ['grpc.test'], rules: [{ backendRefs }] }),
    gatewayObject('TLSRoute', 'each', { parentRefs, hostnames: ['tls.test'], rules: [{ backendRefs }] }),
    gatewayObject('BackendTLSPolicy', 'each', { targetRefs, validation: { hostname: 'shop.test', wellKnownCACertificates: 'System' } }),
  ];
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
    const authority = new CertificatesFixture();
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
    const { spec } = await cluster.api<Service>('GET', '/api/v1/namespaces/sluice/services/sluice');
    const slices = await cluster.api<List<Slice>>('GET', '/apis/discovery.k8s.io/v1/namespaces/sluice/endpointslices');
    assert.deepEqual(
      spec.ports.map(({ targetPort }) => targetPort),
      ['http', 'https'],
    );
    assert.deepEqual(slices.items[0]?.ports.map(({ port }) => port).sort(), [8080, 8443]);
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
    // A status to write, and a refusal to report, which the next leader finds reported.
    const addresses = { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } };
    await cluster.api('PATCH', '/api/v1/namespaces/sluice/services/sluice/status', addresses, 'application/merge-patch+json');
    await cluster.apply(
      ingress({ name: 'wrong' }, 'wrong.test', [{ path: '/', service: 'shop' }], { annotations: { 'sluice.dev/hold': 'x' } }),
    );
    await cluster.apply(...oneOfEach());
    const events = '/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=wrong';
    await until('the refusal to be told', async () =>
      (await cluster.api<List<Event>>('GET', events)).items.some(({ message }) => message.includes('sluice.dev/hold')),
    );
    const leases = await cluster.api<List<Lease>>('GET', '/apis/coordination.k8s.io/v1/namespaces/sluice/leases');
    await cluster.api('DELETE', `/api/v1/namespaces/sluice/pods/${leases.items[0]?.spec.holderIdentity}`);
    const rights = '/apis/rbac.authorization.k8s.io/v1';
    const paths = [`${rights}/clusterroles/sluice`, `${rights}/namespaces/sluice/roles/sluice`];
    const granted = [...allowedBy(await Promise.all(paths.map((path) => cluster.api<Role>('GET', path))))].sort();
    await until(
      'each request that is granted to be made',
      () => {
        const made = cluster.requestsOfAccounts('sluice');
        const missing = granted.filter((one) => !made.has(one));
        if (missing.length > 0) throw new Error(`not made: ${missing.join(', ')}`);
        return true;
      },
      150_000,
    );
    assert.deepEqual([...cluster.requestsOfAccounts('sluice')].sort(), granted);
  });
});

/** Waits until every pod of Sluice serves it. */
async function allServe(host: string): Promise<void> {
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
  // A pod that a test above has deleted is replaced by then.
  before(() => rolledOut(cluster, 'sluice', 'sluice'));

  test('an app that stops listening as soon as it gets SIGTERM is replaced, and scaled up and down, without a lost request', async () => {
    await cluster.apply(
      ...app({ name: 'busy' }, { replicas: 3 }),
      ingress({ name: 'busy' }, 'busy.test', [{ path: '/', service: 'busy' }]),
    );
    await allServe('busy.test');
    const visitors = await Visitors.start(cluster, SERVICE, 'busy.test');
    await visitors.more(100);
    for (const change of [
      () => restart(cluster, 'default', 'busy'),
      () => scale(cluster, 'default', 'busy', 6),
      () => scale(cluster, 'default', 'busy', 1),
      () => restart(cluster, 'default', 'busy'),
    ]) {
      await change();
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
    await allServe('kept.test');
    const visitors = await Visitors.start(cluster, SERVICE, 'kept.test');
    await visitors.more(100);
    const before = new Set(cluster.kubelet.processPods('sluice').keys());
    await restart(cluster, 'sluice', 'sluice');
    await rolledOut(cluster, 'sluice', 'sluice');
    await visitors.more(100);
    await lostNothing(visitors);
    for (const name of cluster.kubelet.processPods('sluice').keys()) assert.ok(!before.has(name), `${name} is a new pod`);
  });
});
