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

/** The ports, hosts and problems of two Gateways, the older one with a listener for TLS. */
function beside(port: number, other: { readonly protocol: string; readonly port: number }, map: readonly [number, number][] = []) {
  const gateway = (name: string, listener: object) => ({
    name,
    spec: { gatewayClassName: 'sluice', listeners: [{ name: 'one', ...listener }] },
  });
  const { settings, routes, problems, statuses } = translate({
    ...clusterOf({
      gatewayClasses: [{ name: '/sluice', spec: { controllerName: 'sluice.dev/gateway-controller' } }],
      gateways: [
        gateway('n/g', { protocol: 'TLS', port, hostname: 'a.test', tls: { mode: 'Passthrough' } }),
        gateway('odd/g', { hostname: 'b.test', ...other }),
      ],
    }),
    portMap: new Map(map),
  });
  const context = { current: {}, isWritten: false, addresses: [], refused: new Map(), now: 'now' };
  const status = statuses.find(({ meta }) => meta.namespace === 'odd')?.build(context) as {
    readonly listeners: readonly {
      readonly conditions: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
    }[];
  };
  return {
    settings,
    hosts: routes.map(({ domain }) => domain).filter((domain) => domain !== '*'),
    codes: problems.map(({ code }) => code),
    told: status.listeners[0]?.conditions.map(({ type, status: is, reason }) => `${type}=${is} ${reason}`),
  };
}

test('a port is not for HTTP and TLS at once: a younger Gateway, or one with an unusual protocol on a usual port, is refused and told so', () => {
  const told = [
    ...['Accepted=False ProtocolConflict', 'Programmed=False ProtocolConflict'],
    ...['ResolvedRefs=True ResolvedRefs', 'Conflicted=True ProtocolConflict'],
  ];
  const refused = { hosts: ['a.test'], codes: ['protocol_conflict'], told };
  assert.deepEqual(beside(9_000, { protocol: 'HTTP', port: 9_000 }), { settings: { https_port: [443, 9_000] }, ...refused });
  assert.deepEqual(beside(443, { protocol: 'HTTP', port: 443 }), { settings: {}, ...refused });
  assert.deepEqual(beside(443, { protocol: 'HTTP', port: 9_443 }, [[443, 9_443]]), { settings: {}, ...refused });
  assert.deepEqual(beside(80, { protocol: 'HTTP', port: 81 }).hosts, ['b.test']);
});
