import { Agent, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { until } from '../../../shared/runtime/testing/until.ts';
import type { Cluster } from './cluster.ts';
import { WatchedObjects } from './watched-objects.ts';

type Conditions = { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean };
type Slice = {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly ports?: readonly { readonly name?: string; readonly port: number }[];
  readonly endpoints?: readonly { readonly addresses: readonly string[]; readonly conditions?: Conditions }[];
};
type SocketAddress = { readonly address: string; readonly port: number };

/** As late as a kube-proxy may be. */
const LOOK_MS = 200;
const PAUSE_MS = 25;

/**
 * Visitors of a Service of the cluster, whose connections go to one of its ready endpoints each, as kube-proxy does it. Half of them keep
 * their connections; like a browser, they send a GET again if a kept connection ends before any part of its response.
 */
export class Visitors {
  answered = 0;
  readonly failures: string[] = [];
  readonly host: string;
  private readonly slices: WatchedObjects<Slice>;
  private places: readonly SocketAddress[] = [];
  private isOver = false;
  private readonly tasks: Promise<void>[] = [];
  private turn = 0;

  private constructor(slices: WatchedObjects<Slice>, host: string) {
    this.slices = slices;
    this.host = host;
  }

  static async start(cluster: Cluster, [namespace, name]: readonly [namespace: string, name: string], host: string): Promise<Visitors> {
    const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?labelSelector=kubernetes.io/service-name=${name}`;
    const visitors = new Visitors(await WatchedObjects.start(cluster, path), host);
    await until('an endpoint of the service', () => {
      visitors.look();
      return visitors.places.length > 0;
    });
    visitors.tasks.push(visitors.keepLooking(), ...[false, true, false, true].map((isKept) => visitors.visit(isKept)));
    return visitors;
  }

  /** Waits until this many more requests have been answered. */
  async more(count: number): Promise<void> {
    const goal = this.answered + count;
    await until(`${count} more answers (failures: ${this.failures.slice(0, 3).join('; ')})`, () => this.answered >= goal, 120_000);
  }

  /** Ends after the requests in flight. @returns the failures. */
  async end(): Promise<readonly string[]> {
    this.isOver = true;
    await Promise.all(this.tasks);
    await this.slices[Symbol.asyncDispose]();
    return this.failures;
  }

  private async keepLooking(): Promise<void> {
    while (!this.isOver) {
      this.look();
      await wait(LOOK_MS);
    }
  }

  private look(): void {
    const slices = [...this.slices.values()];
    const placesOf = (isUsed: (conditions: Conditions) => boolean): SocketAddress[] =>
      slices.flatMap(({ ports = [], endpoints = [] }) => {
        const port = ports.find(({ name }) => name === 'http')?.port;
        if (port === undefined) return [];
        return endpoints
          .filter(({ conditions = {} }) => isUsed(conditions))
          .flatMap(({ addresses }) => addresses.map((address) => ({ address, port })));
      });
    const ready = placesOf((conditions) => conditions.ready !== false);
    // Like kube-proxy, which uses those that still serve while they are ending if no other is left.
    this.places = ready.length > 0 ? ready : placesOf(({ serving, terminating }) => serving === true && terminating === true);
  }

  private async visit(isKept: boolean): Promise<void> {
    const agent = new ServiceAgent(isKept, () => this.places[this.turn++ % this.places.length]);
    while (!this.isOver) {
      const result = await this.ask(agent).catch((error: unknown): Result => ({ kind: 'failed', why: String(error) }));
      if (result.kind === 'failed') this.failures.push(`${new Date().toISOString()} ${result.why}`);
      if (result.kind === 'answered') this.answered++;
      await wait(result.kind === 'failed' ? LOOK_MS : PAUSE_MS);
    }
    agent.destroy();
  }

  private ask(agent: Agent): Promise<Result> {
    return new Promise((resolve) => {
      let response: IncomingMessage | undefined;
      const call = request({ agent, headers: { host: this.host } }, (arrived) => {
        response = arrived;
        arrived.resume().on('end', () => {
          if (arrived.statusCode === 200) resolve({ kind: 'answered' });
          else resolve({ kind: 'failed', why: `status ${arrived.statusCode}` });
        });
        arrived.on('error', (error) => resolve({ kind: 'failed', why: `cut: ${error.message}` }));
      });
      call.on('error', (error) => {
        if (response === undefined && call.reusedSocket) resolve({ kind: 'again' });
        else resolve({ kind: 'failed', why: error.message });
      });
      call.end();
    });
  }
}

/** Connects to an endpoint that is ready at that time. */
class ServiceAgent extends Agent {
  private readonly choose: () => SocketAddress | undefined;

  constructor(isKept: boolean, choose: () => SocketAddress | undefined) {
    super({ keepAlive: isKept, maxSockets: 1 });
    this.choose = choose;
  }

  override createConnection(): Socket {
    const place = this.choose();
    if (place === undefined) throw new Error('no endpoint is ready');
    return connect(place.port, place.address);
  }
}

type Result = { readonly kind: 'answered' } | { readonly kind: 'again' } | { readonly kind: 'failed'; readonly why: string };
