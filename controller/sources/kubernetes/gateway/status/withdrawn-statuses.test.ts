import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GATEWAY_CONTROLLER } from '../../../../../shared/name.ts';
import { translate } from '../../routes/translate.ts';
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
