import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GATEWAY_CONTROLLER } from '../../../../../shared/name.ts';
import { translate } from '../../routes/translate.ts';
import type { StatusCondition } from '../../status/conditions.ts';
import { clusterOf } from '../../testing/cluster-snapshot.ts';

test('when the last GatewayClass of this controller is gone, what it said about routes and policies is withdrawn', () => {
  const spec = { parentRefs: [{ name: 'g' }], rules: [{ backendRefs: [] }] };
  const validation = { hostname: 'a.test', wellKnownCACertificates: 'System' };
  const { statuses } = translate(
    clusterOf({
      gatewayClasses: [{ name: '/theirs', spec: { controllerName: 'example.org/theirs' } }],
      httpRoutes: [{ name: 'n/r', spec }],
      grpcRoutes: [{ name: 'n/r', spec }],
      tlsRoutes: [{ name: 'n/r', spec }],
      backendTlsPolicies: [{ name: 'n/p', spec: { targetRefs: [{ kind: 'Service', name: 'app' }], validation } }],
    }),
  );
  const context = { isWritten: true, addresses: [], refused: new Map(), now: 'now' };
  const entries = (name: string) =>
    [GATEWAY_CONTROLLER, 'example.org/theirs'].map((controllerName) => ({ [name]: { name: 'g' }, controllerName, conditions: [] }));
  for (const [kind, list, ref] of [
    ['HTTPRoute', 'parents', 'parentRef'],
    ['GRPCRoute', 'parents', 'parentRef'],
    ['TLSRoute', 'parents', 'parentRef'],
    ['BackendTLSPolicy', 'ancestors', 'ancestorRef'],
  ] as const) {
    const status = statuses.find(({ resource }) => resource.kind === kind);
    const [ours, theirs] = entries(ref);
    assert.deepEqual(status?.build({ ...context, current: { [list]: [ours, theirs] } }), { [list]: [theirs] });
    assert.equal(status?.build({ ...context, current: { [list]: [theirs] } }), undefined);
  }
});

test('a Gateway whose class is gone, and a ListenerSet whose Gateway is not served, no longer say that they are programmed', () => {
  const gatewayOf = (name: string, gatewayClassName: string) => ({ name, spec: { gatewayClassName, listeners: [] } });
  const setOf = (name: string, parent: string) => ({ name, spec: { parentRef: { name: parent }, listeners: [] } });
  const classes = ['/sluice', '/theirs'].map((name) => ({
    name,
    spec: { controllerName: name === '/sluice' ? GATEWAY_CONTROLLER : 'example.org/theirs' },
  }));
  const toldWith = (gatewayClasses: typeof classes) => {
    const { statuses } = translate(
      clusterOf({
        gatewayClasses,
        gateways: [gatewayOf('n/gone', 'gone'), gatewayOf('n/theirs', 'theirs'), gatewayOf('n/ours', 'sluice')],
        listenerSets: [setOf('n/gone', 'gone'), setOf('n/theirs', 'theirs'), setOf('n/lost', 'absent')],
      }),
    );
    return (isWritten: boolean) =>
      statuses.flatMap(({ resource, meta, build }) => {
        const built = build({ current: {}, isWritten, addresses: [], refused: new Map(), now: 'now' });
        const [accepted] = (built?.conditions ?? []) as readonly StatusCondition[];
        const isShown = resource.kind !== 'GatewayClass' && accepted?.reason !== 'Accepted';
        return accepted && isShown ? [`${resource.kind} ${meta.name}: ${accepted.status} ${accepted.reason}`] : [];
      });
  };
  const gone = ['Gateway gone: Unknown Pending', 'ListenerSet gone: False ParentNotAccepted', 'ListenerSet lost: False ParentNotAccepted'];
  assert.deepEqual(toldWith(classes)(true), gone);
  assert.deepEqual(toldWith(classes.slice(1))(true), ['Gateway gone: Unknown Pending', 'Gateway ours: Unknown Pending', ...gone.slice(1)]);
  for (const some of [classes, classes.slice(1)]) assert.deepEqual(toldWith(some)(false), []);
});

test('a Gateway whose class is gone keeps the addresses in its status, so that it has them again when the class returns', () => {
  const spec = { gatewayClassName: 'gone', listeners: [] };
  const { statuses } = translate(clusterOf({ gatewayClasses: [], gateways: [{ name: 'n/g', spec }] }));
  const status = statuses.find(({ resource }) => resource.kind === 'Gateway');
  const addresses = [{ type: 'IPAddress', value: '192.0.2.4' }];
  const context = { isWritten: true, addresses: [], refused: new Map(), now: 'now' };
  assert.deepEqual(status?.build({ ...context, current: { addresses } })?.addresses, addresses);
});
