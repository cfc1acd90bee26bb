import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { makePair } from '../../../shared/certificates/testing/pairs.ts';
import { GATEWAY_CONTROLLER } from '../../../shared/name.ts';
import { clockWithShortWaits } from '../../../shared/runtime/testing/shortened-clock.ts';
import { until } from '../../../shared/runtime/testing/until.ts';
import { readSingleDirective } from '../file/single-directive.ts';
import type { Snapshot } from '../source.ts';
import { HTPASSWD_SECRETS } from './objects/htpasswd-secret.ts';
import { TLS_SECRETS } from './objects/secret.ts';
import { createKubernetesSource } from './source.ts';
import { fakeIngress, INGRESSES_PATH, putSite, SECRETS_PATH } from './testing/fake-objects.ts';
import { fakeCluster } from './testing/watched.ts';

/** The source of a cluster with a site, which has been listed. */
async function listedSource(t: TestContext, unknown: readonly string[] = []) {
  // The pauses after failures.
  const { server, parts, run } = await fakeCluster(t, clockWithShortWaits(50, 5_000).clock);
  if (unknown.length > 0) server.answer = ({ path }) => (unknown.some((name) => path.endsWith(`/${name}`)) ? { status: 404 } : undefined);
  putSite(server, 'web', 'web.example', '10.0.0.1');
  const settings = { kubeconfig: server.kubeconfig, ingressClass: 'sluice', namespaces: null, publish: null, portMap: new Map() };
  const { clock, random, log } = parts;
  const source = createKubernetesSource({ settings, clock, random, log, readDirective: readSingleDirective });
  const snapshots: Snapshot[] = [];
  run({ run: (signal) => source.run(signal, (snapshot) => snapshots.push(snapshot)) });
  const said = (words: string) => log.lines.filter(({ message }) => message.includes(words)).length;
  await until('the listing', () => snapshots.some(({ kind }) => kind === 'listed'));
  const lists = server.requests.filter(({ query }) => query.limit !== undefined);
  const kinds = new Set(lists.map(({ path, query: { fieldSelector = '' } }) => `${path}?${fieldSelector}`)).size;
  await until('a watch of each kind', () => server.watching === kinds - unknown.length);
  return { server, snapshots, kinds, said };
}

test('an unavailable API server is logged once for all kinds, and so is its return', async (t) => {
  const { server, snapshots, kinds, said } = await listedSource(t);
  await server.stop();
  await until('many failures', () => snapshots.filter(({ kind }) => kind === 'failed').length > 20);
  await server.start();
  await until('its return', () => said('the cluster can be read again') > 0 && server.watching === kinds);
  assert.deepEqual([said('the cluster cannot be read'), said('the cluster can be read again')], [1, 1]);
});

test('kinds that the cluster does not define are named once there is a GatewayClass of ours', async (t) => {
  const { server, snapshots } = await listedSource(t, ['referencegrants', 'tlsroutes']);
  const said = () => {
    const last = snapshots.findLast((one) => one.kind === 'listed');
    return last?.problems.flatMap(({ code, message }) => (code === 'unknown_kind' ? [/define (.*?) of /.exec(message)?.[1]] : []));
  };
  assert.deepEqual(said(), []);
  const spec = { controllerName: GATEWAY_CONTROLLER };
  server.put('/apis/gateway.networking.k8s.io/v1/gatewayclasses', { metadata: { name: 'sluice' }, spec });
  await until('the kinds to be named', () => said()?.join() === 'TLSRoute, ReferenceGrant');
  server.answer = ({ path }) => (/\/(?:grpcroutes|tlsroutes|referencegrants)$/.test(path) ? { status: 404 } : undefined);
  server.cut();
  await until('the one that it no longer defines', () => said()?.join() === 'GRPCRoute, TLSRoute, ReferenceGrant');
});

test('two kinds of Secrets that cannot be read are two failures, and only when both can be read again is that logged', async (t) => {
  const { server, kinds, said } = await listedSource(t);
  const refused = new Set([TLS_SECRETS.fieldSelector, HTPASSWD_SECRETS.fieldSelector]);
  const refusals = new Map<string | undefined, number>();
  server.answer = ({ path, query: { fieldSelector } }) => {
    if (path !== SECRETS_PATH || !refused.has(fieldSelector)) return undefined;
    refusals.set(fieldSelector, (refusals.get(fieldSelector) ?? 0) + 1);
    return { status: 503 };
  };
  const times = () => refusals.get(TLS_SECRETS.fieldSelector) ?? 0;
  server.cut();
  await until('both to be refused', () => refusals.size === 2 && times() > 1 && server.watching === kinds - 2);
  refused.delete(HTPASSWD_SECRETS.fieldSelector);
  await until('one to be read again', () => server.watching === kinds - 1);
  const before = times();
  await until('the other to be refused twice more', () => times() > before + 1);
  assert.equal(said('the cluster can be read again'), 0);
  refused.clear();
  await until('the return of both', () => said('the cluster can be read again') > 0);
  assert.equal(said('the cluster can be read again'), 1);
});

test('a Secret whose key is written after its certificate does not turn HTTPS off meanwhile', async (t) => {
  const { server, snapshots } = await listedSource(t);
  const [old, renewed] = await Promise.all([makePair(['web.example']), makePair(['web.example'])]);
  const write = (certificate: string, privateKey: string) => {
    const data = { 'tls.crt': Buffer.from(certificate).toString('base64'), 'tls.key': Buffer.from(privateKey).toString('base64') };
    server.put(SECRETS_PATH, { metadata: { name: 'web', namespace: 'default' }, type: 'kubernetes.io/tls', data });
  };
  const presents = ({ certificate }: typeof old, problem: RegExp) => {
    const last = snapshots.findLast((one) => one.kind === 'listed');
    const isPresented = last?.certificates?.some((one) => one.certificate.trim() === certificate.trim()) === true;
    return isPresented && problem.test(last?.problems.map(({ message }) => message).join() ?? '');
  };
  const web = fakeIngress('web', 'web.example');
  server.put(INGRESSES_PATH, { ...web, spec: { ...(web.spec as object), tls: [{ secretName: 'web' }] } });
  write(old.certificate, old.privateKey);
  await until('the certificate', () => presents(old, /^$/));
  write(renewed.certificate, old.privateKey);
  await until('the problem', () => presents(old, /does not belong.*last valid version is presented/));
  write(renewed.certificate, renewed.privateKey);
  await until('the renewed one', () => presents(renewed, /^$/));
});
