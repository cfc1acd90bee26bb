import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSingleDirective } from '../file/single-directive.ts';
import type { Snapshot } from '../source.ts';
import { createKubernetesSource } from './source.ts';
import { putSite } from './testing/fake-objects.ts';
import { eventually, fakeCluster } from './testing/watched.ts';

test('an unavailable API server is logged once, whatever the number of kinds, and so is its return', async (t) => {
  const { server, parts, run } = await fakeCluster(t);
  putSite(server, 'web', 'web.example', '10.0.0.1');
  const settings = { kubeconfig: server.kubeconfig, ingressClass: 'sluice', namespaces: null, publish: null, portMap: new Map() };
  const { clock, random, log } = parts;
  const source = createKubernetesSource({ settings, clock, random, log, readDirective: readSingleDirective });
  const snapshots: Snapshot[] = [];
  run({ run: (signal) => source.run(signal, (snapshot) => snapshots.push(snapshot)) });
  const said = (words: string) => log.lines.filter(({ message }) => message.includes(words)).length;
  await eventually('the listing', () => snapshots.some(({ kind }) => kind === 'listed'));
  await server.stop();
  await eventually('many failures', () => snapshots.filter(({ kind }) => kind === 'failed').length > 20);
  await server.start();
  await eventually('its return', () => said('the cluster can be read again') === 1);
  assert.equal(said('the cluster cannot be read'), 1);
});
