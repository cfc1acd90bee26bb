import assert from 'node:assert/strict';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { GATEWAY_CONTROLLER, INGRESS_CONTROLLER } from '../../../shared/name.ts';
import { until } from '../../../shared/runtime/testing/until.ts';
import { Folder } from '../../testing/dataplane.ts';
import { ask } from '../../testing/http.ts';
import { Program, REPOSITORY } from '../../testing/process.ts';
import { assetPath, COMMAND } from '../testing/assets.ts';
import { type Cluster, clusterNetwork } from '../testing/cluster.ts';
import { allowedBy, type Role } from '../testing/granted.ts';
import { app, ingress, namespaceObject } from '../testing/objects.ts';
import type { ContainerSpec, PodSpec } from '../testing/pods/pod.ts';
import { rolledOut } from '../testing/rollout.ts';
import { joinCluster, leaveCluster } from '../testing/shared-cluster.ts';

const skip = clusterNetwork();
const CHART = join(REPOSITORY, 'deploy/helm/sluice');

let cluster: Cluster;
before(async () => {
  if (skip === undefined) cluster = await joinCluster();
});
after(() => leaveCluster(cluster));

async function run(
  program: 'helm' | 'kubectl',
  args: readonly string[],
): Promise<{ readonly code: number | null; readonly output: string }> {
  const home = { HELM_CACHE_HOME: '/dev/shm', HELM_CONFIG_HOME: '/dev/shm', HELM_DATA_HOME: '/dev/shm' };
  const started = new Program(assetPath(program), args, { ...home, ...COMMAND });
  const { code } = await started.exited;
  return { code, output: started.output };
}

async function helm(...args: string[]): Promise<string> {
  const { code, output } = await run('helm', [...args, '--kubeconfig', cluster.kubeconfig]);
  assert.equal(code, 0, output);
  return output;
}

type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly rules?: NonNullable<Role['rules']>;
  readonly spec: { readonly template: { readonly spec: PodSpec }; readonly jobLabel?: string };
};

/** Manifests as kubectl understands them, or as the API server does, in a dry run that creates nothing. */
async function understood(manifests: string, by: 'client' | 'server'): Promise<readonly Manifest[]> {
  const text = await cluster.kubectl(['-n', 'sluice', 'apply', `--dry-run=${by}`, '-o', 'json', '-f', '-'], manifests);
  return (JSON.parse(text) as { readonly items: readonly Manifest[] }).items;
}

const podOf = (manifests: readonly Manifest[]): PodSpec => {
  const pod = manifests.find(({ kind }) => kind === 'Deployment')?.spec.template.spec;
  assert.ok(pod);
  return pod;
};
const rightsOf = (manifests: readonly Manifest[]) =>
  ['ClusterRole', 'Role'].map((kind) => [...allowedBy(manifests.filter((one) => one.kind === kind))].sort());

/** The definition of the Prometheus operator, without the descriptions of its fields. */
const SERVICE_MONITORS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'servicemonitors.monitoring.coreos.com' },
  spec: {
    group: 'monitoring.coreos.com',
    names: { kind: 'ServiceMonitor', plural: 'servicemonitors' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

describe('the chart', { skip }, () => {
  test('serves Ingresses of its namespaces and its Sluicefile, whose changes need no new pod, and leaves nothing behind', async () => {
    await cluster.apply(namespaceObject('shop'));
    const values = ['--set', 'namespaces={shop}', '--set', 'replicas=1', '--set', 'shutdown.delaySeconds=1'];
    const file = (text: string) => ['--set', `sluicefile=file.test { respond "${text}" }`];
    const notes = await helm('install', 'edge', CHART, '-n', 'edge', '--create-namespace', ...values, ...file('one'));
    assert.match(notes, /class sluice in the namespaces shop/);
    assert.match(notes, /kubectl -n edge exec deploy\/edge-sluice -c dataplane -- sluice status/);
    await rolledOut(cluster, 'edge', 'edge-sluice');
    const paths = [{ path: '/', service: 'web' }];
    await cluster.apply(...app({ name: 'web', namespace: 'shop' }), ingress({ name: 'web', namespace: 'shop' }, 'web.test', paths));
    await cluster.apply(...app({ name: 'web' }), ingress({ name: 'web' }, 'other.test', paths));
    const [name = '', pod] = [...cluster.kubelet.processPods('edge')][0] ?? [];
    assert.ok(pod);
    const visit = (host: string) => ask({ host: pod.address, port: 8080 }, '/', { headers: { host } });
    await until('the Ingress to be served', async () => (await visit('web.test')).status === 200);
    await until('the Sluicefile to be served', async () => (await visit('file.test')).text === 'one');
    assert.equal((await visit('other.test')).status, 404, 'of a namespace that is not watched');
    assert.doesNotMatch(pod.container('controller').output, /forbidden/);
    await helm('upgrade', 'edge', CHART, '-n', 'edge', ...values, ...file('two'));
    await until('the new Sluicefile to be served', async () => (await visit('file.test')).text === 'two');
    assert.deepEqual([...cluster.kubelet.processPods('edge').keys()], [name], 'the same pod');
    assert.equal(pod.container('controller').restarts + pod.container('dataplane').restarts, 0);
    await helm('uninstall', 'edge', '-n', 'edge');
    await until('the pod to have ended', () => cluster.kubelet.processPods('edge').size === 0, 120_000);
    const kinds = 'clusterroles,clusterrolebindings,roles,rolebindings,ingressclasses,deployments,services,configmaps,serviceaccounts';
    const left = await cluster.kubectl(['get', kinds, '-A', '-l', 'app.kubernetes.io/instance=edge', '-o', 'name']);
    assert.equal(left, '');
  });

  test('runs what the manifests of deploy/kubernetes/gateway run, with the same rights', async () => {
    const { output } = await run('helm', ['template', 'sluice', CHART, '-n', 'sluice']);
    const [chart, manifests] = await Promise.all([
      understood(output, 'client'),
      understood(await cluster.kubectl(['kustomize', join(REPOSITORY, 'deploy/kubernetes/gateway')]), 'client'),
    ]);
    assert.deepEqual(rightsOf(chart), rightsOf(manifests));
    const [fromChart, fromManifests] = [podOf(chart), podOf(manifests)];
    for (const [at, container] of fromManifests.containers.entries())
      for (const flag of container.args ?? []) assert.ok(fromChart.containers[at]?.args?.includes(flag), `${container.name} ${flag}`);
    const withoutFlags = ({ args, image, ...rest }: ContainerSpec) => ({ ...rest, imagePullPolicy: '' });
    const comparable = ({ containers, ...rest }: PodSpec) => ({
      ...rest,
      topologySpreadConstraints: [],
      containers: containers.map(withoutFlags),
    });
    assert.deepEqual(comparable(fromChart), comparable(fromManifests));
  });

  test('and the manifests have the same options: a GatewayClass, PROXY headers and metrics for the Prometheus operator', async () => {
    using folder = new Folder();
    symlinkSync(join(REPOSITORY, 'deploy'), folder.file('deploy'));
    const components = ['gateway-class', 'proxy-protocol', 'service-monitor'].map(
      (name) => `./deploy/kubernetes/gateway/components/${name}`,
    );
    const kustomization = { resources: ['./deploy/kubernetes/gateway'], namespace: 'sluice', components };
    writeFileSync(folder.file('kustomization.yaml'), JSON.stringify(kustomization));
    const options = [
      'gatewayClass.create=true',
      'proxyProtocol=true',
      'trustedProxies={10.0.0.0/8}',
      'metrics.serviceMonitor.enabled=true',
    ];
    const { output } = await run('helm', ['template', 'sluice', CHART, '-n', 'sluice', ...options.flatMap((one) => ['--set', one])]);
    await cluster.defineGateways();
    await cluster.apply(SERVICE_MONITORS);
    await cluster.established(SERVICE_MONITORS.metadata.name);
    await cluster.apply(namespaceObject('sluice'));
    for (const manifests of [await cluster.kubectl(['kustomize', folder.path]), output]) {
      const accepted = await understood(manifests, 'server');
      const names = accepted.map(({ apiVersion, kind, metadata }) => `${apiVersion} ${kind} ${metadata.name}`);
      for (const name of [
        'gateway.networking.k8s.io/v1 GatewayClass sluice',
        'v1 Service sluice-metrics',
        'monitoring.coreos.com/v1 ServiceMonitor sluice',
      ])
        assert.ok(names.includes(name), `${name} among\n${names.join('\n')}`);
      const monitor = accepted.find(({ kind }) => kind === 'ServiceMonitor');
      const monitored = accepted.find(({ metadata }) => metadata.name === 'sluice-metrics');
      // The alert rules name this job.
      assert.equal(monitored?.metadata.labels?.[String(monitor?.spec.jobLabel)], 'sluice');
      const { containers } = podOf(accepted);
      for (const flag of ['--proxy-protocol', '--trusted-proxies=10.0.0.0/8']) assert.ok(containers[0]?.args?.includes(flag), flag);
    }
  });

  test('lets listeners of Gateways name the ports of its Service, whichever those are', async () => {
    const mapOf = async (...values: readonly string[]) => {
      const { output } = await run('helm', ['template', 'sluice', CHART, ...values.flatMap((one) => ['--set', one])]);
      return /--port-map=(\S+)/.exec(output)?.[1];
    };
    assert.equal(await mapOf('service.httpPort=443', 'service.httpsPort=9443'), '80:8080,443:8443,9443:8443');
    assert.equal(await mapOf('service.httpPort=8000', 'service.httpsPort=9443'), '80:8080,443:8443,8000:8080,9443:8443');
  });

  test('refuses values that it does not know or that contradict each other', async () => {
    for (const [set, reason] of [
      ['replica=3', /replica/],
      ['proxyProtocol=true', /trustedProxies/],
      ['service.type=Loadbalancer', /service.type|service\/type/],
      ['namespaces={Shop}', /namespaces/],
    ] as const) {
      const { code, output } = await run('helm', ['template', 'sluice', CHART, '--set', set]);
      assert.notEqual(code, 0, set);
      assert.match(output, reason);
    }
  });

  test('has the version of the package and the controller name of the program', () => {
    const { version } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')) as { version: string };
    const chart = readFileSync(join(CHART, 'Chart.yaml'), 'utf8');
    assert.match(chart, new RegExp(`^version: ${version}\\nappVersion: ${version}$`, 'm'));
    for (const file of ['deploy/helm/sluice/templates/ingress-class.yaml', 'deploy/kubernetes/gateway/ingress-class.yaml'])
      assert.ok(readFileSync(join(REPOSITORY, file), 'utf8').includes(`controller: ${INGRESS_CONTROLLER}\n`), file);
    for (const file of ['deploy/helm/sluice/templates', 'deploy/kubernetes/gateway/components/gateway-class'])
      assert.ok(
        readFileSync(join(REPOSITORY, file, 'gateway-class.yaml'), 'utf8').includes(`controllerName: ${GATEWAY_CONTROLLER}\n`),
        file,
      );
  });
});
