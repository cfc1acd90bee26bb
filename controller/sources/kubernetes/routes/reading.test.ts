import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterOf, ingressOf, type SampleObject, serviceOf } from '../testing/cluster-snapshot.ts';
import { translate } from './translate.ts';

/** What would make an Ingress work, as its reading says. */
function changeOf(ingress: SampleObject, slices: readonly SampleObject[] = []): string | null | undefined {
  const { service } = serviceOf('n/app', '10.0.0.1');
  const [reading] = translate(clusterOf({ ingresses: [ingress], services: [service], slices })).readings;
  return reading?.change;
}

test('what would change the state of an Ingress fits the reason why it is not resolved', () => {
  assert.equal(changeOf(ingressOf('n/web', 'a.test', 'app')), 'make a pod of the service ready');
  assert.match(changeOf(ingressOf('n/web', 'a.test', 'gone')) ?? '', /^create what it refers to/);
  assert.match(changeOf({ name: 'n/web', spec: { ingressClassName: 'sluice', rules: [{ host: 'a.test' }] } }) ?? '', /^add a path/);
  assert.equal(changeOf(ingressOf('n/web', 'a.test', 'app'), [serviceOf('n/app', '10.0.0.1').slice]), null);
});
