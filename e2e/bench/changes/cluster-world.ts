import { readFileSync } from 'node:fs';
import { Agent, createServer, get, type Server } from 'node:http';
import { until } from '../../../shared/runtime/testing/until.ts';
import { Cluster, clusterNetwork } from '../../kubernetes/testing/cluster.ts';
import type { KubernetesObject } from '../../kubernetes/testing/object-path.ts';
import { INGRESS_CLASS, ingress } from '../../kubernetes/testing/objects.ts';
import { Pair } from '../../kubernetes/testing/pair.ts';
import { median } from '../figure.ts';
import type { ClusterTimes } from './cluster.ts';

/** Measures how long changes take in a cluster with many objects, and prints the figures as its last line. Runs in its own network. */
const FEW = 1_000;
const MANY = 5_000;
const ENDPOINTS = 5;
const CHANGES = 9;
/** One in this many hosts is visited to see when all are served. */
const SAMPLED = 100;
/** How many objects are created, or hosts visited, concurrently. */
const CONCURRENCY = 32;
const TIMEOUT_MS = 300_000;
const FLAGS = ['--publish-address', '203.0.113.7'];

const skip = clusterNetwork();
if (skip !== undefined) throw new Error(skip);
await using cluster = await Cluster.start();

async function addMany() {
  await using pair = await Pair.start({ kubeconfig: cluster.kubeconfig, flags: FLAGS });
  const names = Array.from({ length: FEW }, (_, at) => `few-${at}`);
  const objects = names.map((name) => ingress({ name }, `${name}.test`, [{ path: '/', service: 'one' }]));
  // The first one shows that the pair is ready.
  await createAll(objects.slice(0, 1));
  await pair.serves(200, 'few-0.test');
  const began = performance.now();
  await createAll(objects.slice(1));
  const created = secondsSince(began);
  await allServed(pair, names);
  const served = secondsSince(began);
  await until('all addresses to be reported', async () => (await unreported()) === 0, TIMEOUT_MS);
  const reported = secondsSince(began);
  return { created, served, reported };
}

async function fromCold() {
  const names = Array.from({ length: MANY - FEW }, (_, at) => `many-${at}`);
  await createAll(
    names.flatMap((name, at) => [
      ...serviceOf(name, ...addressesOf(at)),
      ingress({ name }, `${name}.test`, [{ path: '/', service: name }]),
    ]),
  );
  const began = performance.now();
  await using pair = await Pair.start({ kubeconfig: cluster.kubeconfig, flags: FLAGS });
  // A table is swapped as a whole, so a few hosts show when it is. Visiting all of them would itself take seconds.
  await allServed(
    pair,
    names.filter((_, at) => at % SAMPLED === 0),
  );
  const cold = secondsSince(began);
  await allServed(pair, names);
  await until('all addresses to be reported', async () => (await unreported()) === 0, TIMEOUT_MS);
  const changes: number[] = [];
  for (let change = 0; change < CHANGES; change++) {
    const address = change % 2 === 0 ? '10.77.200.2' : '10.77.200.1';
    const [, slice] = serviceOf('many-7', address);
    const from = performance.now();
    await cluster.api('PATCH', pathOf(slice as KubernetesObject, true), { endpoints: slice?.endpoints }, 'application/merge-patch+json');
    await until('the other pod to respond', async () => (await pair.visit('many-7.test')).text === address, TIMEOUT_MS);
    changes.push(secondsSince(from));
  }
  return { cold, change: median(changes), controller: peakOf(pair.controller?.pid ?? 0) };
}

/** A pod's app, which responds with its address. */
async function startApp(address: string): Promise<Server> {
  const server = createServer((_, response) => response.end(address));
  await new Promise<void>((resolve) => server.listen(8_080, address, resolve));
  return server;
}

/** The first is an app; the others are addresses that accept no connections, so that using them would be noticed. */
const addressesOf = (at: number): [string, ...string[]] => [
  '10.77.200.1',
  ...Array.from({ length: ENDPOINTS }, (_, nth) => `10.99.${(at * ENDPOINTS + nth) >> 8}.${(at * ENDPOINTS + nth) & 255}`).slice(1),
];

function serviceOf(name: string, first: string, ...others: string[]): KubernetesObject[] {
  const metadata = { name, namespace: 'default' };
  const endpoint = (address: string, ready: boolean) => ({
    addresses: [address],
    conditions: { ready },
    targetRef: { kind: 'Pod', name: `pod-${address}`, namespace: 'default', uid: `pod-${address}` },
  });
  return [
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [{ name: 'http', port: 80 }] } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      ports: [{ name: 'http', port: 8_080, protocol: 'TCP' }],
      endpoints: [endpoint(first, true), ...others.map((address) => endpoint(address, false))],
    },
  ];
}

const PATHS: Readonly<Record<string, string>> = {
  Service: '/api/v1/namespaces/default/services',
  EndpointSlice: '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
  Ingress: '/apis/networking.k8s.io/v1/namespaces/default/ingresses',
};

const pathOf = ({ kind, metadata }: KubernetesObject, named = false): string => `${PATHS[kind]}${named ? `/${metadata.name}` : ''}`;

async function createAll(objects: readonly KubernetesObject[]): Promise<void> {
  const waiting = [...objects];
  const work = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await cluster.api('POST', pathOf(next), next);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
}

const visitors = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });

/** Visits each host until it is served, on connections that stay open, because the visits themselves must not take long. */
async function allServed({ httpPort }: Pair, names: readonly string[]): Promise<void> {
  const waiting = [...names];
  const work = async () => {
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      const host = `${name}.test`;
      await until(`${host} to be served`, async () => (await statusOf(httpPort, host)) === 200, TIMEOUT_MS);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
}

const statusOf = (port: number, host: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const call = get({ host: '127.0.0.1', port, agent: visitors, headers: { host } }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    });
    call.on('error', reject);
  });

type IngressList = {
  readonly items: readonly { readonly status: { readonly loadBalancer?: { readonly ingress?: readonly unknown[] } } }[];
};

async function unreported(): Promise<number> {
  const { items } = await cluster.api<IngressList>('GET', PATHS.Ingress ?? '');
  return items.filter(({ status }) => (status.loadBalancer?.ingress ?? []).length === 0).length;
}

const secondsSince = (began: number): number => (performance.now() - began) / 1_000;

/** The peak memory (MiB) of a process or one of its children. */
function peakOf(pid: number): number {
  const peak = Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  return Math.max(peak, ...children.map(peakOf));
}

const apps = await Promise.all(['10.77.200.1', '10.77.200.2'].map(startApp));
await cluster.apply(INGRESS_CLASS);
await createAll([...serviceOf('one', '10.77.200.1')]);
const times = { ...(await addMany()), ...(await fromCold()) } satisfies ClusterTimes;
for (const app of apps) app.close().closeAllConnections();
process.stdout.write(`${JSON.stringify(times)}\n`);
