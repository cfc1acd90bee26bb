import type { ApiServer } from './api-server.ts';
import { runApp } from './pods/app-pod.ts';
import { isImage } from './pods/container.ts';
import type { Pod, RunningPod } from './pods/pod.ts';
import { ProcessPod } from './pods/process-pod.ts';
import type { ConfigMap } from './pods/volumes.ts';
import { WatchedObjects } from './watched-objects.ts';

const SYNC_MS = 50;
/** Addresses of pods: small apps on loopback, and processes in networks of their own. */
const FIRST_PROCESS = 2;

/**
 * Stands in for the scheduler and the kubelet: it runs each pod on an address of its own, says so in the pod's status, and stops it when
 * the pod is deleted. A pod with a container of the image `sluice` runs as real processes, any other as a small app in this process.
 */
export class Kubelet {
  /** The requests that each pod has answered, by name. */
  readonly answered = new Map<string, number>();
  private readonly cluster: ApiServer;
  private readonly running = new Map<string, RunningPod>();
  private readonly reported = new Map<string, string>();
  /** Those that have ended stay here: their objects are still watched for a moment. */
  private readonly ending = new Map<string, Promise<void>>();
  private readonly watched: AsyncDisposable[] = [];
  /** The error of the last pass that failed. */
  lastError = '';
  private next = 1;
  private nextProcess = FIRST_PROCESS;
  private timer: NodeJS.Timeout | undefined;
  private working: Promise<void> = Promise.resolve();

  constructor(cluster: ApiServer) {
    this.cluster = cluster;
  }

  async start(): Promise<void> {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node' } };
    await this.cluster.api('POST', '/api/v1/nodes', node);
    const pods = await WatchedObjects.start<Pod>(this.cluster, '/api/v1/pods');
    const configMaps = await WatchedObjects.start<ConfigMap>(this.cluster, '/api/v1/configmaps');
    this.watched.push(pods, configMaps);
    this.timer = setInterval(() => {
      this.working = this.working
        .then(() => this.sync(pods, configMaps))
        .catch((error: unknown) => {
          // A pod may be gone by now, and the API server may be stopped by a test.
          this.lastError = String(error);
        });
    }, SYNC_MS);
  }

  /** Sets in the status of a pod whether it is ready. */
  async setReady(name: string, ready: boolean): Promise<void> {
    const [key = '', pod] = [...this.running].find(([one]) => one.endsWith(`/${name}`)) ?? [];
    await this.report(key, pod?.address ?? '', ready, []);
  }

  /** The pods of real processes in a namespace, by name. */
  processPods(namespace: string): ReadonlyMap<string, ProcessPod> {
    const found = new Map<string, ProcessPod>();
    for (const [key, pod] of this.running)
      if (pod instanceof ProcessPod && key.startsWith(`${namespace}/`)) found.set(key.slice(namespace.length + 1), pod);
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.timer);
    await this.working;
    for (const watched of this.watched) await watched[Symbol.asyncDispose]();
    await Promise.all([...this.running.values()].map((pod) => pod.kill()));
    await Promise.all(this.ending.values());
  }

  private async sync(pods: WatchedObjects<Pod>, configMaps: WatchedObjects<ConfigMap>): Promise<void> {
    for (const [key, pod] of pods.entries()) {
      if (pod.metadata.deletionTimestamp !== undefined) this.end(key, pod);
      else if (!this.running.has(key)) await this.run(key, pod, configMaps);
    }
    for (const [key, pod] of this.running) if (pod instanceof ProcessPod) await this.reportProcesses(key, pod);
  }

  private async run(key: string, pod: Pod, configMaps: WatchedObjects<ConfigMap>): Promise<void> {
    const { namespace, name } = pod.metadata;
    const target = { apiVersion: 'v1', kind: 'Node', name: 'node' };
    const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target };
    if (pod.spec.nodeName === undefined) await this.cluster.api('POST', `/api/v1/namespaces/${namespace}/pods/${name}/binding`, binding);
    const { initContainers = [], containers } = pod.spec;
    if ([...initContainers, ...containers].some(({ image }) => isImage(image, 'sluice'))) {
      this.running.set(key, await ProcessPod.start({ cluster: this.cluster, configMaps, pod, number: this.nextProcess++ }));
      return;
    }
    const answered = () => this.answered.set(name, (this.answered.get(name) ?? 0) + 1);
    const app = await runApp(pod, `10.77.${this.next >> 8}.${this.next++ & 255}`, answered);
    this.running.set(key, app);
    await this.report(key, app.address, true, []);
  }

  /** Written when it changes only. */
  private async reportProcesses(key: string, pod: ProcessPod): Promise<void> {
    const { ready, containers } = pod.status();
    const text = JSON.stringify([ready, containers]);
    if (this.reported.get(key) === text) return;
    const statusOf = ({ name, ready: isReady, restartCount }: (typeof containers)[number]) => ({
      ...{ name, ready: isReady, restartCount, started: true, image: '', imageID: '' },
      state: { running: { startedAt: new Date().toISOString() } },
    });
    await this.report(
      key,
      pod.address,
      ready,
      containers.filter(({ isInit }) => !isInit).map(statusOf),
      containers.filter(({ isInit }) => isInit).map(statusOf),
    );
    this.reported.set(key, text);
  }

  private async report(
    key: string,
    podIP: string,
    ready: boolean,
    containerStatuses: readonly object[],
    initContainerStatuses: readonly object[] = [],
  ): Promise<void> {
    const [namespace, name] = key.split('/');
    const status = ready ? 'True' : 'False';
    const conditions = ['Ready', 'ContainersReady'].map((type) => ({ type, status }));
    const whole = { phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions, containerStatuses, initContainerStatuses };
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/status`;
    await this.cluster.api('PATCH', path, { status: whole }, 'application/merge-patch+json');
  }

  /** Lets it end in its own time, and then removes its object. */
  private end(key: string, { metadata }: Pod): void {
    const { namespace, name, uid, deletionGracePeriodSeconds = 30 } = metadata;
    if (this.ending.has(uid)) return;
    const stop = async () => {
      await this.running.get(key)?.stop(deletionGracePeriodSeconds);
      this.running.delete(key);
      this.reported.delete(key);
      const options = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 };
      await this.cluster.api('DELETE', `/api/v1/namespaces/${namespace}/pods/${name}`, options);
    };
    const ending = stop().catch((error: unknown) => {
      this.lastError = String(error);
      this.ending.delete(uid);
    });
    this.ending.set(uid, ending);
  }
}
