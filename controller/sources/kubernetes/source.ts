import { createBackoff } from '../../../shared/runtime/backoff.ts';
import { type Clock, sleep } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import { SOURCE_FAILED } from '../../../shared/wire/errors.ts';
import type { Reading, Snapshot, Source } from '../source.ts';
import { createTransitionTimes } from '../transition-times.ts';
import { ApiFailure } from './api/api-failure.ts';
import { type Cluster, openCluster } from './api/cluster.ts';
import type { KubernetesSettings } from './flags.ts';
import { INGRESS_CLASSES, INGRESSES, type Ingress } from './objects/ingress.ts';
import { TLS_SECRETS } from './objects/secret.ts';
import { ENDPOINT_SLICES, SERVICES } from './objects/service.ts';
import { KUBERNETES_SOURCE } from './routes/cluster-snapshot.ts';
import { lostTargets, targetsIn } from './routes/lost-targets.ts';
import { translate } from './routes/translate.ts';
import { ResourceStore } from './watch/resource-store.ts';

export type KubernetesSourceOptions = {
  readonly settings: KubernetesSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Reads the credentials. @throws ApiFailure. */
  readonly open?: () => Promise<Cluster>;
};

const ABOUT = { source: KUBERNETES_SOURCE, origin: KUBERNETES_SOURCE };

/** Changes that come together are translated once: a rollout changes many objects (ms). */
const QUIET_MS = 20;

/** Ingresses and annotated Services of a cluster as a source of routes. Nothing is listed until every kind of object has been. */
export function createKubernetesSource({ settings, clock, random, log, open }: KubernetesSourceOptions): Source {
  const openApi = open ?? (() => openCluster({ kubeconfig: settings.kubeconfig, clock }));
  const withTransitionTimes = createTransitionTimes(clock);
  let emit: ((snapshot: Snapshot) => void) | undefined;
  let readings: readonly Reading[] = [];
  let lastGood: ReadonlyMap<string, Ingress> = new Map();
  let targets: ReadonlySet<string> = new Set();
  let cancel: (() => void) | undefined;
  let relist: () => void = () => undefined;

  const watchAll = async (cluster: Cluster, signal: AbortSignal): Promise<void> => {
    const { namespaces, ingressClass } = settings;
    let isListed = false;
    const failures = new Map<string, string>();
    const parts = { cluster, clock, random, log };
    const storeOf = <T>(resource: ConstructorParameters<typeof ResourceStore<T>>[0]['resource']) =>
      new ResourceStore<T>({
        ...parts,
        resource,
        namespaces,
        changed: () => {
          cancel ??= clock.after(QUIET_MS, publish);
        },
        failed: (place, reason) => {
          if (reason === null) failures.delete(place);
          else failures.set(place, reason);
          if (reason !== null) emit?.({ kind: 'failed', source: KUBERNETES_SOURCE, errors: [...new Set(failures.values())] });
          else if (failures.size === 0) cancel ??= clock.after(QUIET_MS, publish);
        },
      });
    const ingresses = storeOf(INGRESSES);
    const classes = storeOf(INGRESS_CLASSES);
    const services = storeOf(SERVICES);
    const slices = storeOf(ENDPOINT_SLICES);
    const secrets = storeOf(TLS_SECRETS);
    const stores = [ingresses, classes, services, slices, secrets];

    const publish = (): void => {
      cancel = undefined;
      if (!emit || !stores.every(({ synced }) => synced)) return;
      if (!isListed) log.info({ cluster: cluster.where, ingresses: ingresses.size, services: services.size }, 'the cluster is watched');
      isListed = true;
      const translation = translate({
        ingressClass,
        ingresses: ingresses.objects(),
        classes: classes.objects(),
        services: services.objects(),
        slices: slices.objects(),
        secrets: secrets.objects(),
        lastGood,
      });
      lastGood = translation.lastGood;
      readings = withTransitionTimes(translation.readings);
      const before = targets;
      targets = targetsIn(translation.routes);
      const { routes, certificates } = translation;
      // What can't be read now keeps its last state; nothing is withdrawn because of it.
      const unread = [...new Set(failures.values())].map((message) => ({ ...ABOUT, domain: null, code: SOURCE_FAILED, message }));
      const problems = [...unread, ...translation.problems];
      emit({ kind: 'listed', source: KUBERNETES_SOURCE, routes, certificates, problems, urgent: lostTargets(before, targets) });
    };

    relist = () => {
      for (const store of stores) store.relist();
    };
    await Promise.all(stores.map((store) => store.run(signal)));
  };

  const run = async (signal: AbortSignal, tell: (snapshot: Snapshot) => void): Promise<void> => {
    const backoff = createBackoff(random);
    let lastError = '';
    emit = tell;
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
          tell({ kind: 'failed', source: KUBERNETES_SOURCE, errors: [lastError] });
        }
        await sleep(clock, backoff.next(), signal);
      }
    }
  };

  return { name: KUBERNETES_SOURCE, run, relist: () => relist(), readings: () => readings };
}
