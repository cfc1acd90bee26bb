import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { until } from '../../../shared/runtime/testing/until.ts';
import { type Cluster, clusterNetwork } from '../testing/cluster.ts';
import { app, INGRESS_CLASS, ingress } from '../testing/objects.ts';
import { Pair } from '../testing/pair.ts';
import { joinCluster, leaveCluster } from '../testing/shared-cluster.ts';
import { WatchedObjects } from '../testing/watched-objects.ts';

const skip = clusterNetwork();

let cluster: Cluster;
/** Each test starts its controller with its own flags. */
let pair: Pair;
before(async () => {
  if (skip !== undefined) return;
  cluster = await joinCluster();
  await cluster.apply(INGRESS_CLASS);
  pair = await Pair.withoutController();
});
afterEach(() => pair?.stopController());
after(async () => {
  await pair?.[Symbol.asyncDispose]();
  await leaveCluster(cluster);
});

const startController = (...flags: string[]) => pair.startController(cluster.kubeconfig, flags);

const INGRESSES = '/apis/networking.k8s.io/v1/namespaces/default/ingresses';
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/default/leases/sluice-status-sluice';

type Ingress = {
  readonly metadata: { readonly name: string };
  readonly status: { readonly loadBalancer?: { readonly ingress?: readonly { ip?: string; hostname?: string }[] } };
};

const addressesOf = ({ status }: Ingress): string =>
  (status.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip ?? hostname).join(' ');

/** The addresses that an Ingress reports. */
const reported = async (name: string) => addressesOf(await cluster.api<Ingress>('GET', `${INGRESSES}/${name}`));

async function reports(name: string, addresses: string): Promise<void> {
  await using ingresses = await WatchedObjects.start<Ingress>(cluster, INGRESSES);
  await until(`${name} to report "${addresses}"`, () => {
    const ingress = ingresses.get('default', name);
    return ingress !== undefined && addressesOf(ingress) === addresses;
  });
}

const holder = async () => (await cluster.api<{ readonly spec: { readonly holderIdentity?: string } }>('GET', LEASE)).spec.holderIdentity;

type WrittenEvent = {
  readonly reason: string;
  readonly note: string;
  readonly type: string;
  readonly regarding: { readonly name: string };
};
const eventsOf = async (name: string) => {
  const { items } = await cluster.api<{ readonly items: readonly WrittenEvent[] }>(
    'GET',
    '/apis/events.k8s.io/v1/namespaces/default/events',
  );
  return items.filter(({ regarding }) => regarding.name === name);
};

describe('an Ingress', { skip }, () => {
  test('reports the published addresses once it is served, also if others overwrite them, until it is no longer ours', async () => {
    await cluster.apply(...app({ name: 'web' }));
    await startController('--publish-address', 'edge.example.org,203.0.113.7,2001:db8::7');
    const paths = [{ path: '/', service: 'web' }];
    await cluster.apply(ingress({ name: 'web' }, 'web.test', paths));
    await reports('web', '2001:db8::7 203.0.113.7 edge.example.org');
    await pair.serves(200, 'web.test');
    const overwritten = { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } };
    await cluster.api('PATCH', `${INGRESSES}/web/status`, overwritten, 'application/merge-patch+json');
    await reports('web', '2001:db8::7 203.0.113.7 edge.example.org');
    await cluster.apply(ingress({ name: 'web' }, 'web.test', paths, { className: 'other' }));
    await reports('web', '');
  });

  test('that another controller takes over keeps the status written by that controller', async () => {
    await cluster.apply(...app({ name: 'moved' }));
    await startController('--publish-address', '203.0.113.7');
    const paths = [{ path: '/', service: 'moved' }];
    await cluster.apply(ingress({ name: 'moved' }, 'moved.test', paths));
    await reports('moved', '203.0.113.7');
    await pair.stopController();
    await cluster.apply(ingress({ name: 'moved' }, 'moved.test', paths, { className: 'other' }));
    const theirs = { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } };
    await cluster.api('PATCH', `${INGRESSES}/moved/status?fieldManager=other`, theirs, 'application/merge-patch+json');
    await startController('--publish-address', '203.0.113.7');
    await cluster.apply(ingress({ name: 'later' }, 'later.test', paths));
    await reports('later', '203.0.113.7');
    assert.equal(await reported('moved'), '192.0.2.1');
    await cluster.delete('ingress/later', 'ingress/moved');
  });

  test('reports the addresses of the published Service, as they change, and keeps them while it has none', async () => {
    await cluster.apply(...app({ name: 'shown' }));
    const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'edge', namespace: 'default' } };
    const spec = { type: 'LoadBalancer', ports: [{ port: 80 }] };
    await startController('--publish-service', 'default/edge');
    await cluster.apply(ingress({ name: 'shown' }, 'shown.test', [{ path: '/', service: 'shown' }]));
    await pair.serves(200, 'shown.test');
    await until('the reason why none is reported', async () =>
      (await pair.command('status')).includes('default/edge of --publish-service does not exist'),
    );
    await cluster.apply({ ...service, spec });
    const balancer = (ingress: object[]) =>
      cluster.api(
        'PATCH',
        '/api/v1/namespaces/default/services/edge/status',
        { status: { loadBalancer: { ingress } } },
        'application/merge-patch+json',
      );
    await balancer([{ ip: '203.0.113.9' }]);
    await reports('shown', '203.0.113.9');
    await balancer([{ hostname: 'lb.example.org' }]);
    await reports('shown', 'lb.example.org');
    await cluster.delete('service/edge');
    await until('the reason', async () => (await pair.command('status')).includes('Ingresses keep the addresses that they report'));
    assert.equal(await reported('shown'), 'lb.example.org');
  });

  test('that is refused gets one Event that says so', async () => {
    await startController();
    await cluster.apply(ingress({ name: 'wrong' }, 'wrong.test', [{ path: '/', service: 'nowhere' }]));
    const [event] = await until('the event', async () => {
      const events = await eventsOf('wrong');
      return events.length > 0 ? events : undefined;
    });
    assert.partialDeepStrictEqual(event, { type: 'Warning', reason: 'NoBackend', note: '/: the service default/nowhere does not exist' });
    assert.match(await cluster.kubectl(['describe', 'ingress', 'wrong']), /NoBackend.*default\/nowhere does not exist/);
    await pair.stopController();
    await startController('--publish-address', '203.0.113.7');
    await reports('wrong', '203.0.113.7');
    assert.equal((await eventsOf('wrong')).length, 1);
    await cluster.delete('ingress/wrong');
  });
});

describe('of several controllers', { skip }, () => {
  let other: Pair;
  before(async () => {
    other = await Pair.withoutController();
  });
  after(() => other?.[Symbol.asyncDispose]());
  const startOther = (...flags: string[]) => other.startController(cluster.kubeconfig, flags);

  test('one writes, and another takes over as soon as the first has stopped', async () => {
    await cluster.apply(...app({ name: 'held' }));
    const paths = [{ path: '/', service: 'held' }];
    await startController('--publish-address', '203.0.113.1');
    await cluster.apply(ingress({ name: 'held' }, 'held.test', paths));
    await reports('held', '203.0.113.1');
    const before = await holder();
    // If it wrote as well, the two would undo each other's work.
    await startOther('--publish-address', '203.0.113.2');
    await other.serves(200, 'held.test');
    assert.equal(await holder(), before);
    assert.equal(await reported('held'), '203.0.113.1');
    await pair.stopController();
    await reports('held', '203.0.113.2');
    assert.notEqual(await holder(), before);
  });

  test('one that disappears without a word is replaced when its lease has expired', async () => {
    // The one that has taken over.
    await reports('held', '203.0.113.2');
    other.controller?.child.kill('SIGKILL');
    await startController('--publish-address', '203.0.113.3');
    await reports('held', '203.0.113.3');
  });
});
