import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GATEWAY_CONTROLLER } from '../../../../../shared/name.ts';
import { translate } from '../../routes/translate.ts';
import type { StatusCondition } from '../../status/conditions.ts';
import { clusterOf } from '../../testing/cluster-snapshot.ts';

test('a GatewayClass that refers to parameters is not accepted, and its Gateways are served without them', () => {
  const parametersRef = { group: 'example.org', kind: 'Parameters', name: 'p' };
  for (const [more, expected] of [
    [{}, 'True Accepted'],
    [{ parametersRef }, 'False InvalidParameters'],
  ] as const) {
    const { statuses, routes } = translate(
      clusterOf({
        gatewayClasses: [{ name: '/sluice', spec: { controllerName: GATEWAY_CONTROLLER, ...more } }],
        gateways: [
          {
            name: 'n/g',
            spec: { gatewayClassName: 'sluice', listeners: [{ name: 'http', protocol: 'HTTP', port: 80, hostname: 'a.test' }] },
          },
        ],
      }),
    );
    const context = { current: {}, isWritten: false, addresses: [], refused: new Map(), now: 'now' };
    const built = statuses.find(({ resource }) => resource.kind === 'GatewayClass')?.build(context);
    const [accepted] = (built?.conditions ?? []) as readonly StatusCondition[];
    assert.equal(`${accepted?.status} ${accepted?.reason}`, expected);
    assert.deepEqual(
      routes.map(({ domain }) => domain),
      ['a.test'],
    );
  }
});
