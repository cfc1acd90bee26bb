import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GATEWAY_CONTROLLER } from '../../../../../shared/name.ts';
import { translate } from '../../routes/translate.ts';
import { clusterOf, type SampleObject } from '../../testing/cluster-snapshot.ts';

const PORTS = [80, 8_080, 9_090];
const GATEWAY: SampleObject = {
  name: 'shop/g',
  spec: { gatewayClassName: 'sluice', listeners: PORTS.map((port) => ({ name: `l${port}`, protocol: 'HTTP', port })) },
};

/** A route that redirects paths below a prefix to its own name, at some ports. */
const route = (name: string, prefix: string, ...ports: number[]): SampleObject => ({
  name: `shop/${name}`,
  spec: {
    parentRefs: ports.map((port) => ({ name: 'g', port })),
    hostnames: ['a.test'],
    rules: [
      {
        matches: [{ path: { type: 'PathPrefix', value: prefix } }],
        filters: [{ type: 'RequestRedirect', requestRedirect: { hostname: `${name}.test` } }],
      },
    ],
  },
});

/** The routes whose rules are tried at a port, in their order. The first route is the oldest. */
function triedAt(port: number, ...httpRoutes: readonly SampleObject[]) {
  const gatewayClasses = [{ name: '/sluice', spec: { controllerName: GATEWAY_CONTROLLER } }];
  const { routes } = translate(clusterOf({ gatewayClasses, gateways: [GATEWAY], httpRoutes }));
  const handles = routes.find(({ domain }) => domain === 'a.test')?.handles ?? [];
  return handles.flatMap(({ match, redirects }) => {
    const isAt = match === undefined || !('port' in match) || match.port?.includes(port) !== false;
    return isAt ? redirects.flatMap(({ to }) => /(\w+)\.test/.exec(to)?.[1] ?? []) : [];
  });
}

test('the most specific rule comes first at each port, wherever else its route and the others are attached', () => {
  for (const [first, second] of [
    [80, 8_080],
    [8_080, 80],
  ] as const) {
    const [long, short] = [route('long', '/x', first, 9_090), route('short', '/', second, 9_090)];
    for (const routes of [
      [long, short],
      [short, long],
    ])
      assert.deepEqual(triedAt(9_090, ...routes), ['long', 'short']);
  }
});

test('of equal rules, that of the oldest route comes first at each port, wherever else the routes are attached', () => {
  for (const [first, second] of [
    [80, 8_080],
    [8_080, 80],
  ] as const)
    assert.deepEqual(triedAt(9_090, route('old', '/', first, 9_090), route('young', '/', second, 9_090)), ['old', 'young']);
});
