import { hostname } from 'node:os';
import { createBackoff } from '../../../shared/runtime/backoff.ts';
import { type Clock, sleep } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import { SOURCE_FAILED } from '../../../shared/wire/errors.ts';
import type { DirectiveReader } from '../directive-reader.ts';
import type { Reading, ServedSnapshot, Snapshot, Source } from '../source.ts';
import { createTransitionTimes } from '../transition-times.ts';
import { ApiFailure } from './api/api-failure.ts';
import { type Cluster, openCluster } from './api/cluster.ts';
import { type ClusterReports, Feedback } from './feedback.ts';
import type { KubernetesSettings } from './flags.ts';
import { addressesToDivide } from './gateway/gateway-addresses.ts';
import type { Ingress } from './objects/ingress.ts';
import { KUBERNETES_SOURCE } from './routes/cluster-snapshot.ts';
import { lostTargets, targetsIn } from './routes/lost-targets.ts';
import { translate } from './routes/translate.ts';
import { ClusterStores } from './watch/cluster-stores.ts';
import type { Resource } from './watch/resource.ts';
import { ResourceStore } from './watch/resource-store.ts';

export type KubernetesSourceOptions = {
  readonly settings: KubernetesSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The name of this pod; null outside a cluster. No two processes may have the same name at once. */
  readonly pod?: string | null;
  /** The addresses of this machine's or pod's interfaces. */
  readonly interfaces?: readonly string[];
  /** For annotations that hold directives of the config file. */
  readonly readDirective: DirectiveReader;
  /** Reads the credentials. @throws ApiFailure. */
  readonly open?: () => Promise<Cluster>;
};

const ABOUT = { source: KUBERNETES_SOURCE, origin: KUBERNETES_SOURCE };

/** A failure without its details: the cluster can't be reached, or it forbids a list. */
const gistOf = (reason: string): string | undefined => reason.split(': ', 1)[0];

/** Changes within this time are translated together: a rollout changes many objects (ms). */
const QUIET_MS = 20;

/** A cluster as a source of routes: its Ingresses, Gateways and annotated Services. Nothing is listed until every kind of object has been. */
export function createKubernetesSource(options: KubernetesSourceOptions): Source {
  const { settings, clock, random, log, pod = null, readDirective, open } = options;
  const openApi = open ?? (() => openCluster({ kubeconfig: settings.kubeconfig, clock }));
  const withTransitionTimes = createTransitionTimes(clock);
  let emit: ((snapshot: Snapshot) => void) | undefined;
  let readings: readonly Reading[] = [];
  let lastGood: ReadonlyMap<string, Ingress> = new Map();
  let targets: ReadonlySet<string> = new Set();
  let cancel: (() => void) | undefined;
  let relist: () => void = () => undefined;
  let feedback: Feedback | undefined;
  /** The statuses and refusals of snapshots that may still be served. */
  const reports = new WeakMap<Snapshot, ClusterReports>();
  const addresses = addressesToDivide(settings.publish, pod !== null, options.interfaces ?? []);
  const identity = pod ?? `${hostname()}_${random.hex(4)}`;

  const watchAll = async (cluster: Cluster, signal: AbortSignal): Promise<void> => {
    const { namespaces, ingressClass } = settings;
    let isListed = false;
    const failures = new Map<string, string>();
    const parts = { cluster, clock, random, log };
    const changed = () => {
      cancel ??= clock.after(QUIET_MS, publish);
    };
    const storeOf = <T>(resource: Resource<T>) =>
      new ResourceStore<T>({
        ...parts,
        resource,
        namespaces,
        changed,
        statusChanged: (key) => told.statusChanged(resource, key),
        failed: (place, reason) => {
          // An unavailable API server fails for every kind of object, which is logged once, however each connection ends.
          const isNews = reason !== null && ![...failures.values()].some((known) => gistOf(known) === gistOf(reason));
          if (isNews) log.warn({ place, reason }, 'the cluster cannot be read; routes stay, trying again');
          if (reason === null) failures.delete(place);
          else failures.set(place, reason);
          if (reason !== null) emit?.({ kind: 'failed', source: KUBERNETES_SOURCE, errors: [...new Set(failures.values())] });
          else if (failures.size === 0) {
            log.info('the cluster can be read again');
            changed();
          }
        },
      });
    const stores = new ClusterStores(storeOf);
    const seen = (resource: Resource<unknown>, key: string) => stores.status(resource, key);
    const told = new Feedback({ ...parts, settings, identity, seen, changed });
    feedback = told;

    const publish = (): void => {
      cancel = undefined;
      if (!emit || !stores.synced) return;
      const objects = stores.objects();
      const { ingresses, services, gateways } = objects;
      if (!isListed)
        log.info(
          { cluster: cluster.where, ingresses: ingresses.size, services: services.size, gateways: gateways.size },
          'the cluster is watched',
        );
      isListed = true;
      const translation = translate({
        ...objects,
        ingressClass,
        readDirective,
        portMap: settings.portMap,
        addresses,
        lastGood,
      });
      lastGood = translation.lastGood;
      readings = withTransitionTimes(translation.readings);
      const before = targets;
      targets = targetsIn(translation.routes);
      const { routes, certificates, settings: globals } = translation;
      // Objects that can't be read at the moment keep their last state; nothing is withdrawn because of it.
      const unread = [...new Set(failures.values())].map((message) => ({ ...ABOUT, domain: null, code: SOURCE_FAILED, message }));
      const general = { unknown_kind: stores.unknownKinds, no_address: told.problem() };
      const lacking = Object.entries(general).flatMap(([code, message]) =>
        message === null ? [] : [{ ...ABOUT, domain: null, code, message }],
      );
      const problems = [...unread, ...lacking, ...translation.problems];
      const urgent = lostTargets(before, targets);
      const about = { kind: 'listed', source: KUBERNETES_SOURCE, routes, certificates, problems, urgent } as const;
      const snapshot: Snapshot = globals === null ? about : { ...about, settings: globals };
      reports.set(snapshot, translation);
      emit(snapshot);
    };

    relist = () => stores.relist();
    await Promise.all([stores.run(signal), told.run(signal)]);
  };

  const run = async (signal: AbortSignal, emitSnapshot: (snapshot: Snapshot) => void): Promise<void> => {
    const backoff = createBackoff(random);
    let lastError = '';
    emit = emitSnapshot;
    signal.addEventListener(
      'abort',
      () => {
        emit = undefined;
        cancel?.();
        cancel = undefined;
      },
      { once: true },
    );
    while (!signal.aborted) {
      try {
        await watchAll(await openApi(), signal);
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof ApiFailure)) throw error;
        if (error.message !== lastError) {
          lastError = error.message;
          log.warn({ reason: lastError }, 'there is no cluster to watch; trying again');
          emitSnapshot({ kind: 'failed', source: KUBERNETES_SOURCE, errors: [lastError] });
        }
        await sleep(clock, backoff.next(), signal);
      }
    }
  };

  const served = (one: ServedSnapshot): void => {
    const due = reports.get(one.snapshot);
    if (due) feedback?.served(due, one);
  };

  return { name: KUBERNETES_SOURCE, run, relist: () => relist(), readings: () => readings, served };
}
