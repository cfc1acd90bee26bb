import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { dirname, join } from 'node:path';
import { CertificatesFixture } from '../../../dataplane/traffic/testing/certificates.ts';
import { until } from '../../../shared/runtime/testing/until.ts';
import { freePort } from '../../testing/ports.ts';
import { Program } from '../../testing/process.ts';
import { separateNetwork } from '../../testing/separate-network.ts';
import { type ApiServer, apiLines, apiRequest } from './api-server.ts';
import { assetPath, COMMAND, GATEWAY_DEFINITIONS, missingAssets, SERVER } from './assets.ts';
import { Kubelet } from './kubelet.ts';
import { type KubernetesObject, pathOf } from './object-path.ts';
import { WatchedObjects } from './watched-objects.ts';

const TOKEN = 'an-administrator';
/** The first address of the range of services. */
const SERVICE_ADDRESS = '10.96.0.1';
/** JSON is YAML. */
const APPLY = 'application/apply-patch+yaml';

/** The kinds of objects that tests delete, and their versions. */
const DELETABLE = {
  ingress: 'networking.k8s.io/v1',
  service: 'v1',
  gateway: 'gateway.networking.k8s.io/v1',
  httproute: 'gateway.networking.k8s.io/v1',
};
type Deletable = keyof typeof DELETABLE;

type AuditEvent = {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly apiGroup?: string; readonly resource?: string; readonly subresource?: string };
};

/** What is in a namespace by itself. */
const OWN = 'metadata.name!=kubernetes,metadata.name!=kube-root-ca.crt';

type Definition = { readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] } };

let network: { readonly skip: string | undefined } | undefined;

/** The network of this process, in which every address of POD_NETWORK is local. @returns the text for `skip` if there is none. */
export function clusterNetwork(): string | undefined {
  network ??= { skip: createNetwork() };
  return network.skip;
}

function createNetwork(): string | undefined {
  const skip = separateNetwork(missingAssets());
  if (skip !== undefined) return skip;
  const { status, stderr } = spawnSync('ip', ['route', 'add', 'local', '10.77.0.0/16', 'dev', 'lo'], { encoding: 'utf8' });
  if (status !== 0 && !stderr.includes('File exists')) throw new Error(`the addresses of pods are not local: ${stderr}`);
  // Where pods reach the API server.
  spawnSync('ip', ['addr', 'add', `${SERVICE_ADDRESS}/32`, 'dev', 'lo']);
  return undefined;
}

/** A real API server with the real controllers of Deployments, endpoints and garbage, and a stand-in for the kubelet. */
export class Cluster implements ApiServer {
  readonly kubeconfig: string;
  readonly port: number;
  readonly serviceAddress = SERVICE_ADDRESS;
  kubelet: Kubelet;
  private readonly agent = new Agent({ keepAlive: true });
  private readonly folder: string;
  private readonly programs: Program[] = [];
  /** The paths of what tests have applied: an object, or all of its kind in its namespace. */
  private readonly applied = new Set<string>();
  private readonly etcdPort: number;
  private definingGateways: Promise<void> | undefined;

  private constructor(folder: string, port: number, etcdPort: number) {
    this.folder = folder;
    this.port = port;
    this.etcdPort = etcdPort;
    this.kubeconfig = join(folder, 'kubeconfig');
    this.kubelet = new Kubelet(this);
  }

  static async start(): Promise<Cluster> {
    const folder = mkdtempSync('/dev/shm/sluice-cluster-');
    const cluster = new Cluster(folder, await freePort(), await freePort());
    try {
      cluster.writeCredentials();
      await cluster.startEtcd();
      await cluster.startApiServer();
      cluster.startControllers();
      await cluster.kubelet.start();
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  /**
   * Creates objects, or replaces them, as `kubectl apply --server-side` does, but without a process, and a description of all kinds, for
   * each.
   */
  async apply(...objects: readonly KubernetesObject[]): Promise<void> {
    for (const object of objects) {
      const path = pathOf(object);
      if (object.kind !== 'Namespace') this.applied.add(path.includes('/namespaces/') ? dirname(path) : path);
      await this.api('PATCH', `${path}?fieldManager=tests&force=true`, object, APPLY);
    }
  }

  /**
   * Deletes what has been applied, for other tests in this cluster, and waits until its pods have ended. Namespaces stay, without it: their
   * controller takes half a second of CPU time to look for objects of every kind in one.
   */
  async clear(): Promise<void> {
    const paths = [...this.applied].toReversed();
    this.applied.clear();
    for (const path of paths) await this.api('DELETE', `${path}?fieldSelector=${OWN}`);
    for (const path of paths.filter((one) => one.endsWith('/deployments'))) {
      const [, namespace] = /\/namespaces\/([^/]+)\//.exec(path) ?? [];
      await using pods = await WatchedObjects.start(this, `/api/v1/namespaces/${namespace}/pods`);
      await until(`the pods of ${namespace} to have ended`, () => [...pods.values()].length === 0);
    }
  }

  /** Deletes objects of the namespace `default`, and waits neither for their finalizers nor for those that they own. */
  async delete(...names: readonly `${Deletable}/${string}`[]): Promise<void> {
    for (const name of names) {
      const [kind, own] = name.split('/') as [Deletable, string];
      await this.api('DELETE', pathOf({ apiVersion: DELETABLE[kind], kind, metadata: { name: own } }));
    }
  }

  kubectl(args: readonly string[], input = ''): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = { env: { ...process.env, ...COMMAND } };
      const child = execFile(assetPath('kubectl'), ['--kubeconfig', this.kubeconfig, ...args], options, (error, stdout, stderr) => {
        if (error) reject(new Error(`kubectl ${args.join(' ')}: ${stderr}`));
        else resolve(stdout);
      });
      child.stdin?.end(input);
    });
  }

  /** A request to the API server. @throws unless it succeeds. */
  api<T = unknown>(method: string, path: string, body?: unknown, type?: string): Promise<T> {
    return apiRequest<T>({ port: this.port, token: TOKEN, agent: this.agent }, method, path, body, type);
  }

  lines(path: string, signal: AbortSignal): AsyncIterable<string> {
    return apiLines({ port: this.port, token: TOKEN, agent: this.agent }, path, signal);
  }

  /** Starts it, also again after `stopApiServer`. */
  async startApiServer(): Promise<void> {
    const file = (name: string) => join(this.folder, name);
    this.run('kube-apiserver', [
      `--etcd-servers=http://127.0.0.1:${this.etcdPort}`,
      ...[`--secure-port=${this.port}`, '--bind-address=0.0.0.0', '--advertise-address=127.0.0.1'],
      ...['--endpoint-reconciler-type=none', '--disable-admission-plugins=ServiceAccount', '--authorization-mode=RBAC'],
      ...[`--tls-cert-file=${file('certificate.pem')}`, `--tls-private-key-file=${file('key.pem')}`],
      ...[`--service-account-key-file=${file('certificate.pem')}`, `--service-account-signing-key-file=${file('key.pem')}`],
      `--token-auth-file=${file('tokens.csv')}`,
      ...[`--audit-policy-file=${file('audit.json')}`, `--audit-log-path=${file('audit.log')}`],
      ...['--service-account-issuer=https://kubernetes.default.svc', '--service-cluster-ip-range=10.96.0.0/16'],
    ]);
    await until('the API server to be ready', () => this.api('GET', '/readyz'));
  }

  /** Makes the objects of the Gateway API known, unless they are. */
  defineGateways(): Promise<void> {
    this.definingGateways ??= this.applyGatewayDefinitions();
    return this.definingGateways;
  }

  private async applyGatewayDefinitions(): Promise<void> {
    await this.kubectl(['apply', '--server-side', '-f', GATEWAY_DEFINITIONS]);
    const names = readdirSync(GATEWAY_DEFINITIONS).flatMap((file) => /\.io_([a-z]+)\.yaml$/.exec(file)?.[1] ?? []);
    for (const name of names) await this.established(`${name}.gateway.networking.k8s.io`);
  }

  /** Waits until the objects of a CustomResourceDefinition can be used. */
  async established(name: string): Promise<void> {
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}/status`;
    await until(`${name} to be established`, async () => {
      const { status } = await this.api<Definition>('GET', path);
      return status.conditions?.some((condition) => condition.type === 'Established' && condition.status === 'True');
    });
  }

  async stopApiServer(): Promise<void> {
    const at = this.programs.findIndex(({ child }) => child.spawnfile.endsWith('kube-apiserver'));
    const [program] = this.programs.splice(at, 1);
    program?.child.kill('SIGKILL');
    await program?.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kubelet[Symbol.asyncDispose]();
    for (const program of this.programs.toReversed()) {
      program.child.kill('SIGKILL');
      await program.exited;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The requests of the service accounts of a namespace so far, each once: `list networking.k8s.io/ingresses`. */
  requestsOfAccounts(namespace: string): ReadonlySet<string> {
    const lines = readFileSync(join(this.folder, 'audit.log'), 'utf8').split('\n');
    const events = lines.filter(Boolean).map((line) => JSON.parse(line) as AuditEvent);
    const own = events.filter(({ user }) => user.username.startsWith(`system:serviceaccount:${namespace}:`));
    const requests = own.map(({ verb, objectRef = {} }) => {
      const { apiGroup = '', resource = '', subresource } = objectRef;
      return `${verb} ${apiGroup}/${resource}${subresource === undefined ? '' : `/${subresource}`}`;
    });
    return new Set(requests);
  }

  /** Writes the credentials of an administrator. @param port where the API server is reached, which may be another one than its own. */
  writeKubeconfig(path: string, port: number): void {
    const cluster = { server: `https://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true };
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'tests', cluster }],
      users: [{ name: 'admin', user: { token: TOKEN } }],
      contexts: [{ name: 'tests', context: { cluster: 'tests', user: 'admin' } }],
      'current-context': 'tests',
    };
    writeFileSync(path, JSON.stringify(config));
  }

  private writeCredentials(): void {
    // Left to itself, the API server makes an RSA key, which takes more CPU time to find, and to sign each handshake with.
    const authority = new CertificatesFixture();
    const { cert, key } = authority.issue('127.0.0.1', SERVICE_ADDRESS);
    writeFileSync(join(this.folder, 'authority.pem'), authority.ca);
    writeFileSync(join(this.folder, 'certificate.pem'), cert);
    writeFileSync(join(this.folder, 'key.pem'), key);
    writeFileSync(join(this.folder, 'tokens.csv'), `${TOKEN},admin,1,"system:masters"\n`);
    this.writeKubeconfig(this.kubeconfig, this.port);
    const rules = [{ level: 'Metadata', userGroups: ['system:serviceaccounts'], omitStages: ['RequestReceived'] }, { level: 'None' }];
    writeFileSync(join(this.folder, 'audit.json'), JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules }));
  }

  private async startEtcd(): Promise<void> {
    const peer = `http://127.0.0.1:${await freePort()}`;
    const client = `http://127.0.0.1:${this.etcdPort}`;
    const urls = ['--listen-client-urls', client, '--advertise-client-urls', client, '--listen-peer-urls', peer];
    this.run('etcd', ['--unsafe-no-fsync', '--data-dir', join(this.folder, 'etcd'), ...urls]);
  }

  private startControllers(): void {
    const controllers =
      '--controllers=deployment,replicaset,endpointslice,garbagecollector,namespace,disruption,root-ca-certificate-publisher-controller';
    const root = `--root-ca-file=${join(this.folder, 'authority.pem')}`;
    this.run('kube-controller-manager', [`--kubeconfig=${this.kubeconfig}`, controllers, root, '--leader-elect=false', '--secure-port=0']);
  }

  private run(...[name, args]: [Parameters<typeof assetPath>[0], string[]]): void {
    this.programs.push(new Program(assetPath(name), args, SERVER));
  }
}
