import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { Cluster } from './cluster.ts';

type Pod = {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly deletionTimestamp?: string };
  readonly spec: {
    readonly nodeName?: string;
    readonly containers: readonly { readonly ports?: readonly { readonly containerPort: number }[] }[];
  };
};

type Running = { readonly address: string; readonly servers: readonly Server[] };

/**
 * Stands in for the scheduler and the kubelet: it runs a small app for each pod on an address of its own, whose port is that of the pod's
 * container, says so in the pod's status, and stops it when the pod is deleted.
 */
export class Kubelet {
  /** The requests that each pod has answered, by name. */
  readonly answered = new Map<string, number>();
  private readonly cluster: Cluster;
  private readonly running = new Map<string, Running>();
  /** What went wrong in the last pass that failed. */
  lastError = '';
  private next = 1;
  private timer: NodeJS.Timeout | undefined;
  private working: Promise<void> = Promise.resolve();

  constructor(cluster: Cluster) {
    this.cluster = cluster;
  }

  async start(): Promise<void> {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node' } };
    await this.cluster.api('POST', '/api/v1/nodes', node);
    this.timer = setInterval(() => {
      this.working = this.working
        .then(() => this.sync())
        .catch((error: unknown) => {
          // A pod may be gone by now, and the API server may be stopped by a test.
          this.lastError = String(error);
        });
    }, 100);
  }

  /** Makes the status of a pod say that it is ready, or not. */
  async setReady(name: string, ready: boolean): Promise<void> {
    const [key] = [...this.running.keys()].filter((one) => one.endsWith(`/${name}`));
    const [namespace = ''] = (key ?? '').split('/');
    await this.report(namespace, name, ready, this.running.get(key ?? '')?.address ?? '');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.timer);
    await this.working;
    for (const { servers } of this.running.values()) for (const server of servers) server.close().closeAllConnections();
  }

  private async sync(): Promise<void> {
    const { items } = await this.cluster.api<{ readonly items: readonly Pod[] }>('GET', '/api/v1/pods');
    for (const { metadata, spec } of items) {
      const key = `${metadata.namespace}/${metadata.name}`;
      if (metadata.deletionTimestamp !== undefined) await this.stop(key);
      else if (!this.running.has(key)) await this.run(key, metadata, spec);
    }
  }

  private async run(key: string, { namespace, name }: Pod['metadata'], { nodeName, containers }: Pod['spec']): Promise<void> {
    const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
    const target = { apiVersion: 'v1', kind: 'Node', name: 'node' };
    if (nodeName === undefined)
      await this.cluster.api('POST', `${path}/binding`, { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target });
    const address = `10.77.${this.next >> 8}.${this.next++ & 255}`;
    const ports = containers.flatMap((container) => container.ports ?? []);
    const servers = await Promise.all(ports.map(({ containerPort }) => this.listen(name, address, containerPort)));
    this.running.set(key, { address, servers });
    await this.report(namespace, name, true, address);
  }

  private async listen(pod: string, address: string, port: number): Promise<Server> {
    const server = createServer((call, response) => {
      this.answered.set(pod, (this.answered.get(pod) ?? 0) + 1);
      response.setHeader('X-Pod', pod);
      response.end(JSON.stringify({ pod, path: call.url, port, host: call.headers.host }));
    });
    await once(server.listen(port, address), 'listening');
    return server;
  }

  private async report(namespace: string, name: string, ready: boolean, podIP: string): Promise<void> {
    const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }];
    const status = { phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions };
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/status`;
    await this.cluster.api('PATCH', path, { status }, 'application/merge-patch+json');
  }

  /** An app that stops listening when it is told to end, and finishes what it has begun. */
  private async stop(key: string): Promise<void> {
    const [namespace, name] = key.split('/');
    const running = this.running.get(key);
    for (const server of running?.servers ?? []) server.close().closeIdleConnections();
    this.running.delete(key);
    await this.cluster.api('DELETE', `/api/v1/namespaces/${namespace}/pods/${name}`, {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      gracePeriodSeconds: 0,
    });
  }
}
