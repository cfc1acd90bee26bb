import { hostname } from 'node:os';
import { GATEWAY_CONTROLLER } from '../../../shared/name.ts';
import { createBackoff } from '../../../shared/runtime/backoff.ts';
import { type Clock, sleep } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import { SOURCE_FAILED } from '../../../shared/wire/errors.ts';
import type { DirectiveReader } from '../directive-reader.ts';
import type { Reading, Served, Snapshot, Source } from '../source.ts';
import { createTransitionTimes } from '../transition-times.ts';
import { ApiFailure } from './api/api-failure.ts';
import { type Cluster, openCluster } from './api/cluster.ts';
import { type Consequences, Feedback } from './feedback.ts';
import type { KubernetesSettings } from './flags.ts';
import { addressesToDivide } from './gateway/gateway-addresses.ts';
import { BACKEND_TLS_POLICIES } from './objects/backend-tls-policy.ts';
import { AUTHORITIES } from './objects/config-map.ts';
import { GATEWAY_CLASSES, GATEWAYS, LISTENER_SETS } from './objects/gateway.ts';
import { GRPC_ROUTES } from './objects/grpc-route.ts';
import { HTPASSWD_SECRETS } from './objects/htpasswd-secret.ts';
import { HTTP_ROUTES } from './objects/http-route.ts';
import { INGRESS_CLASSES, INGRESSES, type Ingress } from './objects/ingress.ts';
import { NAMESPACES } from './objects/namespace.ts';
import { REFERENCE_GRANTS } from './objects/reference-grant.ts';
import { TLS_SECRETS } from './objects/secret.ts';
import { ENDPOINT_SLICES, SERVICES } from './objects/service.ts';
import { TLS_ROUTES } from './objects/tls-route.ts';
import { KUBERNETES_SOURCE } from './routes/cluster-snapshot.ts';
import { lostTargets, targetsIn } from './routes/lost-targets.ts';
import { translate } from './routes/translate.ts';
import type { Resource } from './watch/resource.ts';
import { ResourceStore } from './watch/resource-store.ts';

export type KubernetesSourceOptions = {
  readonly settings: KubernetesSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The name of this pod; null outside of a cluster. Only one process may have it at a time. */
  readonly pod?: string | null;
  /** The addresses of this machine's or pod's interfaces. */
  readonly interfaces?: readonly string[];
  /** For annotations that hold directives of the config file. */
  readonly readDirective: DirectiveReader;
  /** Reads the credentials. @throws ApiFailure. */
  readonly open?: () => Promise<Cluster>;
};

const ABOUT = { source: KUBERNETES_SOURCE, origin: KUBERNETES_SOURCE };

/** Changes that come together are translated once: a rollout changes many objects (ms). */
const QUIET_MS = 20;

/** Ingresses and annotated Services of a cluster as a source of routes. Nothing is listed until every kind of object has been. */
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
  /** Of the snapshots that may still be served. */
  const consequences = new WeakMap<Snapshot, Consequences>();
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
          // An API server that is away is away for every kind of object, which is said once.
          const isNews = reason !== null && ![...failures.values()].includes(reason);
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
    const ingresses = storeOf(INGRESSES);
    const classes = storeOf(INGRESS_CLASSES);
    const services = storeOf(SERVICES);
    const slices = storeOf(ENDPOINT_SLICES);
    const secrets = storeOf(TLS_SECRETS);
    const users = storeOf(HTPASSWD_SECRETS);
    const gateway = {
      gatewayClasses: storeOf(GATEWAY_CLASSES),
      gateways: storeOf(GATEWAYS),
      listenerSets: storeOf(LISTENER_SETS),
      httpRoutes: storeOf(HTTP_ROUTES),
      grpcRoutes: storeOf(GRPC_ROUTES),
      tlsRoutes: storeOf(TLS_ROUTES),
      grants: storeOf(REFERENCE_GRANTS),
      backendTlsPolicies: storeOf(BACKEND_TLS_POLICIES),
    };
    // Only Gateways need these, so nothing else is allowed to be missing because of them.
    const namespacesOfRoutes = storeOf(NAMESPACES);
    const authorities = storeOf(AUTHORITIES);
    const ofGateways = [namespacesOfRoutes, authorities];
    const hasGateways = () => [...gateway.gatewayClasses.objects().values()].some(({ controller }) => controller === GATEWAY_CONTROLLER);
    const gatewaysUsed = Promise.withResolvers<void>();
    if (signal.aborted) gatewaysUsed.resolve();
    signal.addEventListener('abort', () => gatewaysUsed.resolve(), { once: true });
    const stores = [ingresses, classes, services, slices, secrets, users, ...Object.values(gateway)];
    const seen = (resource: Resource<unknown>, key: string) => stores.find((store) => store.resource === resource)?.status(key);
    const told = new Feedback({ ...parts, settings, identity, seen, changed });
    feedback = told;

    const publish = (): void => {
      cancel = undefined;
      if (!emit || !stores.every(({ synced }) => synced)) return;
      if (hasGateways()) {
        gatewaysUsed.resolve();
        if (!ofGateways.every(({ synced }) => synced)) return;
      }
      if (!isListed) log.info({ cluster: cluster.where, ingresses: ingresses.size, services: services.size }, 'the cluster is watched');
      isListed = true;
      const translation = translate({
        ingressClass,
        ingresses: ingresses.objects(),
        classes: classes.objects(),
        services: services.objects(),
        slices: slices.objects(),
        secrets: secrets.objects(),
        users: users.objects(),
        readDirective,
        gatewayClasses: gateway.gatewayClasses.objects(),
        gateways: gateway.gateways.objects(),
        listenerSets: gateway.listenerSets.objects(),
        httpRoutes: gateway.httpRoutes.objects(),
        grpcRoutes: gateway.grpcRoutes.objects(),
        tlsRoutes: gateway.tlsRoutes.objects(),
        grants: gateway.grants.objects(),
        backendTlsPolicies: gateway.backendTlsPolicies.objects(),
        namespaces: namespacesOfRoutes.objects(),
        authorities: authorities.objects(),
        portMap: settings.portMap,
        addresses,
        lastGood,
      });
      lastGood = translation.lastGood;
      readings = withTransitionTimes(translation.readings);
      const before = targets;
      targets = targetsIn(translation.routes);
      const { routes, certificates, settings: globals } = translation;
      // What can't be read now keeps its last state; nothing is withdrawn because of it.
      const unread = [...new Set(failures.values())].map((message) => ({ ...ABOUT, domain: null, code: SOURCE_FAILED, message }));
      const unpublished = told.problem();
      const general = unpublished === null ? unread : [...unread, { ...ABOUT, domain: null, code: 'no_address', message: unpublished }];
      const problems = [...general, ...translation.problems];
      const urgent = lostTargets(before, targets);
      const about = { kind: 'listed', source: KUBERNETES_SOURCE, routes, certificates, problems, urgent } as const;
      const snapshot: Snapshot = globals === null ? about : { ...about, settings: globals };
      consequences.set(snapshot, translation);
      emit(snapshot);
    };

    relist = () => {
      for (const store of [...stores, ...ofGateways]) store.relist();
    };
    const runLater = async (store: ResourceStore<unknown>) => {
      await gatewaysUsed.promise;
      await store.run(signal);
    };
    await Promise.all([...[...stores, told].map((one) => one.run(signal)), ...ofGateways.map(runLater)]);
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

  const served = (one: Served): void => {
    const due = consequences.get(one.snapshot);
    if (due) feedback?.served(due, one);
  };

  return { name: KUBERNETES_SOURCE, run, relist: () => relist(), readings: () => readings, served };
}
