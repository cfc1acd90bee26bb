import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { until } from '../../../../shared/runtime/testing/until.ts';
import type { ApiServer } from '../api-server.ts';
import type { WatchedObjects } from '../watched-objects.ts';
import { Container } from './container.ts';
import { type ContainerSpec, type ContainerStatus, fieldOf, type Pod, type ProbeSpec, type RunningPod } from './pod.ts';
import { PodNetwork } from './pod-network.ts';
import { startProbe } from './probe.ts';
import { type ConfigMap, Volumes } from './volumes.ts';

/** How long a container has to end if hooks have used up the grace period (s). */
const LEAST_GRACE_SECS = 2;
const RESTART_AFTER_MS = 500;
const REFRESH_MS = 500;

type Member = { readonly container: Container; readonly isSidecar: boolean; hasStarted: boolean; ready: boolean; stops: (() => void)[] };

type Options = {
  readonly cluster: ApiServer;
  readonly configMaps: WatchedObjects<ConfigMap>;
  readonly pod: Pod;
  /** From 2 on, unique among the pods of the test file. */
  readonly number: number;
};

/**
 * A pod whose containers are real processes: sidecars first, then the others; probes, hooks, restarts and the grace period as in a cluster.
 */
export class ProcessPod implements RunningPod {
  readonly address: string;
  private readonly pod: Pod;
  private readonly cluster: ApiServer;
  private readonly network: PodNetwork;
  private readonly volumes: Volumes;
  private readonly folder: string;
  private readonly members: Member[] = [];
  private readonly refreshing: NodeJS.Timeout;
  private isStopping = false;

  private constructor({ cluster, configMaps, pod }: Options, network: PodNetwork) {
    this.cluster = cluster;
    this.pod = pod;
    this.network = network;
    this.address = network.address;
    this.folder = mkdtempSync('/dev/shm/sluice-pod-');
    this.volumes = new Volumes({ cluster, configMaps, pod, address: network.address, folder: join(this.folder, 'volumes') });
    this.refreshing = setInterval(() => {
      // A ConfigMap that can't be read now keeps its last content.
      this.volumes.refresh().catch(() => undefined);
    }, REFRESH_MS);
  }

  static async start(options: Options): Promise<ProcessPod> {
    const running = new ProcessPod(options, await PodNetwork.create(options.number));
    await running.volumes.create();
    const { initContainers = [], containers } = options.pod.spec;
    for (const spec of initContainers) await running.startSidecar(spec);
    for (const spec of containers) running.startMember(spec, false);
    return running;
  }

  container(name: string): Container {
    const found = this.members.find(({ container }) => container.spec.name === name);
    if (found === undefined) throw new Error(`the pod ${this.pod.metadata.name} has no container ${name}`);
    return found.container;
  }

  status(): { readonly ready: boolean; readonly containers: readonly ContainerStatus[] } {
    const containers = this.members.map(({ container, isSidecar, ready }) => ({
      name: container.spec.name,
      ready: ready && !container.hasEnded,
      restartCount: container.restarts,
      isInit: isSidecar,
    }));
    return { ready: containers.every(({ ready }) => ready), containers };
  }

  /** Hooks run at once; then the containers get SIGTERM, and sidecars once the others have ended, the last first. */
  async stop(graceSecs: number): Promise<void> {
    this.isStopping = true;
    const began = performance.now();
    const left = () => Math.max(graceSecs - (performance.now() - began) / 1_000, LEAST_GRACE_SECS);
    const hooks = new Map(this.members.map((member) => [member, member.container.preStop(graceSecs)]));
    const end = async (member: Member) => {
      await hooks.get(member);
      await member.container.terminate(left());
      for (const stop of member.stops) stop();
      member.ready = false;
    };
    await Promise.all(this.members.filter(({ isSidecar }) => !isSidecar).map(end));
    for (const sidecar of this.members.filter(({ isSidecar }) => isSidecar).toReversed()) await end(sidecar);
    await this.remove();
  }

  async kill(): Promise<void> {
    this.isStopping = true;
    for (const { container, stops } of this.members) {
      for (const stop of stops) stop();
      await container.kill();
    }
    await this.remove();
  }

  private async remove(): Promise<void> {
    clearInterval(this.refreshing);
    await this.network.remove();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Containers after a sidecar start once its startup probe has passed. */
  private async startSidecar(spec: ContainerSpec): Promise<void> {
    if (spec.restartPolicy !== 'Always') throw new Error('the tests run no init containers but sidecars');
    const member = this.startMember(spec, true);
    await until(`the sidecar ${spec.name} to have started`, () => member.hasStarted || this.isStopping);
  }

  private startMember(spec: ContainerSpec, isSidecar: boolean): Member {
    const env = Object.fromEntries(
      (spec.env ?? []).map(({ name, value = '', valueFrom }) => [
        name,
        valueFrom?.fieldRef ? fieldOf(this.pod, this.address, valueFrom.fieldRef.fieldPath) : value,
      ]),
    );
    const container = new Container({
      spec,
      pod: this.pod.spec,
      network: this.network.path,
      folder: this.folder,
      env: { KUBERNETES_SERVICE_HOST: this.cluster.serviceAddress, KUBERNETES_SERVICE_PORT: String(this.cluster.port), ...env },
      pathOf: (volume) => this.volumes.pathOf(volume),
    });
    const member: Member = { container, isSidecar, hasStarted: false, ready: false, stops: [] };
    this.members.push(member);
    this.watch(member);
    return member;
  }

  private watch(member: Member): void {
    const { container } = member;
    const { startupProbe } = container.spec;
    if (startupProbe === undefined) this.started(member);
    else
      this.probe(member, startupProbe, (passed, failures) => {
        if (passed && !member.hasStarted) this.started(member);
        if (!member.hasStarted && failures >= (startupProbe.failureThreshold ?? 3)) void container.terminate(LEAST_GRACE_SECS);
      });
    void container.program.exited.then(async () => {
      for (const stop of member.stops.splice(0)) stop();
      member.ready = false;
      member.hasStarted = false;
      await wait(RESTART_AFTER_MS);
      if (this.isStopping) return;
      container.restart();
      this.watch(member);
    });
  }

  /** The other probes begin once the one of the start has passed. */
  private started(member: Member): void {
    const { container } = member;
    const { readinessProbe, livenessProbe } = container.spec;
    member.hasStarted = true;
    member.ready = readinessProbe === undefined;
    if (readinessProbe)
      this.probe(member, readinessProbe, (passed, failures) => {
        if (passed) member.ready = true;
        else if (failures >= (readinessProbe.failureThreshold ?? 3)) member.ready = false;
      });
    if (livenessProbe)
      this.probe(member, livenessProbe, (_, failures) => {
        if (failures >= (livenessProbe.failureThreshold ?? 3) && !this.isStopping) void container.terminate(LEAST_GRACE_SECS);
      });
  }

  private probe(member: Member, spec: ProbeSpec, seen: (passed: boolean, failures: number) => void): void {
    const { ports = [] } = member.container.spec;
    const { port } = spec.httpGet;
    const number = typeof port === 'number' ? port : ports.find(({ name }) => name === port)?.containerPort;
    if (number === undefined) throw new Error(`the container ${member.container.spec.name} has no port ${port}`);
    member.stops.push(startProbe({ spec, address: this.address, port: number, seen }));
  }
}
