import assert from 'node:assert/strict';
import { test } from 'node:test';
import { translate } from '../routes/translate.ts';
import { clusterOf } from '../testing/cluster-snapshot.ts';

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
