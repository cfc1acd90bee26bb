import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GATEWAY_CONTROLLER } from '../../../../../shared/name.ts';
import { translate } from '../../routes/translate.ts';
import { clusterOf, serviceOf } from '../../testing/cluster-snapshot.ts';

const mirror = (name: string, more: object = {}) => ({ type: 'RequestMirror', requestMirror: { backendRef: { name, port: 80 }, ...more } });

test('each mirror gets its part of the requests, and a backend that does not exist gets none', () => {
  const services = ['app', 'one', 'two'].map((name, nth) => serviceOf(`n/${name}`, `10.0.0.${nth}`));
  const filters = [
    mirror('one', { percent: 20 }),
    mirror('two', { fraction: { numerator: 1, denominator: 3 } }),
    mirror('absent'),
    mirror('one'),
  ];
  const rules = [{ filters, backendRefs: [{ name: 'app', port: 80 }] }];
  const { routes } = translate(
    clusterOf({
      gatewayClasses: [{ name: '/sluice', spec: { controllerName: GATEWAY_CONTROLLER } }],
      gateways: [{ name: 'n/g', spec: { gatewayClassName: 'sluice', listeners: [{ name: 'http', protocol: 'HTTP', port: 80 }] } }],
      httpRoutes: [
        {
          name: 'n/r',
          spec: { parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'g' }], hostnames: ['a.test'], rules },
        },
      ],
      services: services.map(({ service }) => service),
      slices: services.map(({ slice }) => slice),
    }),
  );
  const [block] = routes.find(({ domain }) => domain === 'a.test')?.handles ?? [];
  assert.deepEqual(
    block?.mirrors?.map(({ upstreams, fraction }) => [upstreams[0]?.address, fraction]),
    [
      ['10.0.0.1:8080', { numerator: 20, denominator: 100 }],
      ['10.0.0.2:8080', { numerator: 1, denominator: 3 }],
      ['10.0.0.1:8080', undefined],
    ],
  );
});
