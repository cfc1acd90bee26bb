import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePair } from '../../../../../shared/certificates/testing/pairs.ts';
import { GATEWAY_CONTROLLER } from '../../../../../shared/name.ts';
import { translate } from '../../routes/translate.ts';
import { clusterOf, serviceOf } from '../../testing/cluster-snapshot.ts';

test('a status has no more addresses of a Gateway, and no more Gateways of a policy, than the API allows', async () => {
  const { service, slice } = serviceOf('n/app', '10.0.0.1');
  const names = Array.from({ length: 20 }, (_, at) => `g${at}`);
  const authority = (await makePair(['authority'], { authority: true })).certificate;
  const caCertificateRefs = [{ group: '', kind: 'ConfigMap', name: 'ca' }];
  const { statuses } = translate(
    clusterOf({
      gatewayClasses: [{ name: '/sluice', spec: { controllerName: GATEWAY_CONTROLLER } }],
      gateways: names.map((name) => ({
        name: `n/${name}`,
        spec: { gatewayClassName: 'sluice', listeners: [{ name: 'http', protocol: 'HTTP', port: 80 }] },
      })),
      httpRoutes: [
        { name: 'n/r', spec: { parentRefs: names.map((name) => ({ name })), rules: [{ backendRefs: [{ name: 'app', port: 80 }] }] } },
      ],
      backendTlsPolicies: [
        { name: 'n/p', spec: { targetRefs: [{ kind: 'Service', name: 'app' }], validation: { hostname: 'a.test', caCertificateRefs } } },
      ],
      authorities: [{ name: 'n/ca', data: { 'ca.crt': authority } }],
      services: [service],
      slices: [slice],
    }),
  );
  const theirs = { ancestorRef: { name: 'theirs' }, controllerName: 'example.org/theirs', conditions: [] };
  const built = (kind: string) =>
    statuses
      .find(({ resource }) => resource.kind === kind)
      ?.build({
        current: kind === 'Gateway' ? {} : { ancestors: [theirs] },
        isWritten: false,
        addresses: names.map((name) => ({ kind: 'hostname', value: `${name}.example` })),
        refused: new Map(),
        now: 'now',
      });
  assert.deepEqual((built('Gateway')?.addresses as unknown[] | undefined)?.length, 16);
  const ancestors = built('BackendTLSPolicy')?.ancestors as { readonly ancestorRef: { readonly name: string } }[];
  assert.deepEqual(
    ancestors.map(({ ancestorRef }) => ancestorRef.name),
    ['theirs', ...names.slice(0, 15)],
  );
});
