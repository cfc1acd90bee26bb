import assert from 'node:assert/strict';
import { test } from 'node:test';
import { garbageCollector } from '../../../../../shared/runtime/v8-flags.ts';
import type { HttpRoute } from '../../objects/http-route.ts';
import type { ClusterSnapshot } from '../../routes/cluster-snapshot.ts';
import { translate } from '../../routes/translate.ts';
import { clusterOf, type SampleObject, serviceOf } from '../../testing/cluster-snapshot.ts';

const CLASS: SampleObject = { name: '/sluice', spec: { controllerName: 'sluice.dev/gateway-controller' } };
const PORTS = [80, 8_080];
const GATEWAY: SampleObject = {
  name: 'n/g',
  spec: { gatewayClassName: 'sluice', listeners: PORTS.map((port) => ({ name: `http-${port}`, protocol: 'HTTP', port })) },
};
const HOSTS = 16;
const MATCHES = 8;

/** A route of many hosts, each with all of its matches. */
const route = (name: string, backend: object = { name: 'app', port: 80 }): SampleObject => ({
  name: `n/${name}`,
  spec: {
    parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'g' }],
    hostnames: Array.from({ length: HOSTS }, (_, at) => `h${at}.${name}.test`),
    rules: [
      {
        matches: Array.from({ length: MATCHES }, (_, at) => ({ path: { type: 'PathPrefix', value: `/${at}` } })),
        backendRefs: [backend],
      },
    ],
  },
});
const far = { name: 'far', namespace: 'other', port: 80 };
const grant: SampleObject = {
  name: 'other/grant',
  spec: { from: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'n' }], to: [{ group: '', kind: 'Service' }] },
};

function cluster(address = '10.0.0.1', routes: readonly SampleObject[] = [route('a'), route('b')]): ClusterSnapshot {
  const apps = [serviceOf('n/app', address), serviceOf('other/far', '10.0.9.9')];
  return clusterOf({
    ...{ gatewayClasses: [CLASS], gateways: [GATEWAY], httpRoutes: routes, grants: [grant] },
    services: apps.map(({ service }) => service),
    slices: apps.map(({ slice }) => slice),
  });
}

/** The same route, which counts how often its rules are read. */
function counting(one: HttpRoute): { readonly route: HttpRoute; reads: number } {
  const counted = {
    reads: 0,
    route: {
      ...one,
      rules: one.rules.map((rule) => ({
        ...rule,
        get filters() {
          counted.reads++;
          return rule.filters;
        },
      })),
    },
  };
  return counted;
}

test('a rule is translated once for all of its hosts, and again only if its route or its targets have changed', () => {
  const first = cluster();
  const [a, b] = [...first.httpRoutes.values()].map(counting);
  assert.ok(a && b);
  const httpRoutes = new Map([a, b].map(({ route: one }) => [`n/${one.meta.name}`, one]));
  const reads = (snapshot: ClusterSnapshot) => {
    a.reads = 0;
    b.reads = 0;
    translate(snapshot);
    return [a.reads > 0, b.reads > 0];
  };
  const snapshot = { ...first, httpRoutes };
  assert.deepEqual(reads(snapshot), [true, true]);
  // For its verdict and for each port, with all that is read at once.
  assert.ok(a.reads <= 3 * MATCHES * (1 + PORTS.length), `${a.reads}`);
  assert.deepEqual(reads(snapshot), [false, false]);
  assert.deepEqual(reads({ ...snapshot, gateways: cluster().gateways }), [false, false]);
  assert.deepEqual(reads({ ...snapshot, services: cluster().services, slices: cluster().slices }), [false, false]);
  const [changed] = [...cluster().httpRoutes.values()].map(counting);
  assert.ok(changed);
  assert.deepEqual(reads({ ...snapshot, httpRoutes: new Map([...httpRoutes, ['n/a', changed.route]]) }), [false, false]);
  assert.ok(changed.reads > 0);
  assert.deepEqual(reads({ ...snapshot, slices: cluster('10.0.0.2').slices }), [true, true]);
});

test('routes of a translation are the same objects as before, unless what they are made of has changed', () => {
  const first = cluster();
  const before = translate(first).routes;
  assert.ok(translate(first).routes.every((one, at) => one === before[at]));
  const next = translate({
    ...first,
    httpRoutes: new Map([...first.httpRoutes, ...clusterOf({ httpRoutes: [route('b', far)] }).httpRoutes]),
  });
  const same = next.routes.map((one, at) => one === before[at]);
  assert.deepEqual([same.filter((is) => is).length, same.filter((is) => !is).length], [HOSTS + 1, HOSTS]);
});

test('a rule that is known follows its targets, their permission and their existence', () => {
  const first = cluster('10.0.0.1', [route('a'), route('b', far)]);
  const answers = (snapshot: ClusterSnapshot) => {
    const { routes } = translate(snapshot);
    return ['h0.a.test', 'h1.b.test'].map((host) => {
      const handle = routes.find(({ domain }) => domain === host)?.handles[0];
      return handle?.upstreams[0]?.address ?? handle?.respond?.status;
    });
  };
  const usual = ['10.0.0.1:8080', '10.0.9.9:8080'];
  assert.deepEqual(answers(first), usual);
  assert.deepEqual(answers({ ...first, slices: cluster('10.0.0.2').slices }), ['10.0.0.2:8080', '10.0.9.9:8080']);
  assert.deepEqual(answers({ ...first, slices: new Map() }), [503, 503]);
  assert.deepEqual(answers({ ...first, grants: new Map() }), ['10.0.0.1:8080', 500]);
  assert.deepEqual(answers({ ...first, services: new Map() }), [500, 500]);
  assert.deepEqual(answers(first), usual);
});

test('routes of hosts that are gone are not kept', async () => {
  const collect = garbageCollector();
  const routesOf = (name: string): WeakRef<object>[] =>
    translate(cluster('10.0.0.1', [route(name)])).routes.flatMap((one) => (one.domain.endsWith('.test') ? new WeakRef(one) : []));
  const gone = ['c', 'd', 'e'].flatMap(routesOf);
  const still = routesOf('f');
  const count = (references: readonly WeakRef<object>[]) => references.filter((one) => one.deref() !== undefined).length;
  // What a reference was made of, or has been asked for, stays until the end of the turn, and what the stack seems to refer to for longer.
  for (let times = 0; times < 5 && count(gone) > 0; times++) {
    await new Promise((resolve) => setImmediate(resolve));
    collect();
  }
  assert.deepEqual([gone.length, count(gone), count(still)], [3 * HOSTS, 0, HOSTS]);
});
