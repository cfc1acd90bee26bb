import assert from 'node:assert/strict';
import { test } from 'node:test';
import { translate } from '../routes/translate.ts';
import { clusterOf, serviceOf } from '../testing/cluster-snapshot.ts';

const settingsOf = (map: readonly [number, number][], ...listeners: { protocol: string; port: number }[]) =>
  translate({
    ...clusterOf({
      gatewayClasses: [{ name: '/sluice', spec: { controllerName: 'sluice.dev/gateway-controller' } }],
      gateways: [
        {
          name: 'n/g',
          spec: {
            gatewayClassName: 'sluice',
            listeners: listeners.map((one, nth) => ({ name: `l${nth}`, hostname: `h${nth}.test`, ...one })),
          },
        },
      ],
    }),
    portMap: new Map(map),
  }).settings;

test('the ports of listeners are opened besides the usual ones, mapped as configured', () => {
  const [usual, other] = [
    { protocol: 'HTTP', port: 80 },
    { protocol: 'HTTP', port: 8090 },
  ];
  assert.deepEqual(settingsOf([], usual), {});
  assert.deepEqual(settingsOf([], usual, other, { protocol: 'HTTP', port: 8081 }), { http_port: [80, 8081, 8090] });
  assert.deepEqual(
    settingsOf(
      [
        [80, 8080],
        [8090, 9090],
      ],
      other,
    ),
    { http_port: [8080, 9090] },
  );
});

test('without a GatewayClass of this controller, no ports are set', () => {
  assert.equal(translate(clusterOf({})).settings, null);
});

/** What a Gateway serves on two ports if a ListenerSet of another namespace adds these. */
function besides(listeners: readonly object[]) {
  const all = { namespaces: { from: 'All' } };
  const own = [80, 9000].map((port) => ({ name: `l${port}`, protocol: 'HTTP', port, allowedRoutes: all }));
  const parent = { group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace: 'n', name: 'g' };
  const { service, slice } = serviceOf('shop/app', '10.0.0.1');
  return translate(
    clusterOf({
      gatewayClasses: [{ name: '/sluice', spec: { controllerName: 'sluice.dev/gateway-controller' } }],
      gateways: [{ name: 'n/g', spec: { gatewayClassName: 'sluice', listeners: own, allowedListeners: all } }],
      listenerSets: [{ name: 'odd/set', spec: { parentRef: parent, listeners } }],
      httpRoutes: [
        { name: 'shop/r', spec: { parentRefs: [parent], hostnames: ['a.test'], rules: [{ backendRefs: [{ name: 'app', port: 80 }] }] } },
      ],
      services: [service],
      slices: [slice],
    }),
  );
}

for (const more of [{ protocol: 'HTTP' }, { protocol: 'TLS', tls: { mode: 'Passthrough' } }])
  test(`${more.protocol} listeners on more ports than there may be are refused, and take away neither ports nor hosts of others`, () => {
    const { routes, settings, problems } = besides(Array.from({ length: 40 }, (_, at) => ({ name: `l${at}`, port: 1_000 + at, ...more })));
    assert.deepEqual(
      routes.map(({ domain }) => domain),
      ['*', 'a.test'],
    );
    assert.ok([settings?.http_port].flat().includes(9_000));
    assert.ok(Object.values(settings ?? {}).every((ports) => [ports].flat().length <= 16));
    const refused = problems.filter(({ code }) => code === 'port_unavailable');
    assert.deepEqual([problems.length, refused.length], more.protocol === 'HTTP' ? [26, 26] : [25, 25]);
  });
