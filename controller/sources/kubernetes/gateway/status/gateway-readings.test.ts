import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GATEWAY_CONTROLLER } from '../../../../../shared/name.ts';
import { translate } from '../../routes/translate.ts';
import { clusterOf, serviceOf } from '../../testing/cluster-snapshot.ts';

test('objects without host names are known by the hosts that they are served for, so that status says where they are programmed', () => {
  const { service, slice } = serviceOf('n/app', '10.0.0.1');
  const listener = (name: string, hostname?: string) => ({ name, protocol: 'HTTP', port: 80, ...(hostname && { hostname }) });
  const route = (name: string, section: string, hostnames?: readonly string[]) => ({
    name,
    spec: {
      parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'g', sectionName: section }],
      ...(hostnames && { hostnames }),
      rules: [{ backendRefs: [{ name: 'app', port: 80 }] }],
    },
  });
  const { readings, routes } = translate(
    clusterOf({
      gatewayClasses: [{ name: '/sluice', spec: { controllerName: GATEWAY_CONTROLLER } }],
      gateways: [{ name: 'n/g', spec: { gatewayClassName: 'sluice', listeners: [listener('all'), listener('one', 'a.test')] } }],
      httpRoutes: [route('n/all', 'all'), route('n/wild', 'one', ['*.test']), route('n/named', 'all', ['b.test'])],
      ingresses: [
        { name: 'n/web', spec: { ingressClassName: 'sluice', defaultBackend: { service: { name: 'app', port: { number: 80 } } } } },
      ],
      services: [service],
      slices: [slice],
    }),
  );
  assert.deepEqual(Object.fromEntries(readings.map(({ origin, domains }) => [origin, domains])), {
    'ingress n/web': ['*'],
    'gateway n/g': ['*', 'a.test'],
    'httproute n/all': ['*'],
    'httproute n/wild': ['*.test', 'a.test'],
    'httproute n/named': ['b.test'],
  });
  const served = new Set<string>(routes.map(({ domain }) => domain));
  for (const { origin, domains } of readings)
    assert.ok(
      domains.some((domain) => served.has(domain)),
      origin,
    );
});
