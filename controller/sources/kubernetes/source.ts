import { hostname } from 'node:os';
import { createBackoff } from '../../../shared/runtime/backoff.ts';
import { type Clock, sleep } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import { SOURCE_FAILED } from '../../../shared/wire/errors.ts';
import type { DirectiveReader } from '../directive-reader.ts';
import type { Reading, ServedSnapshot, Snapshot, Source, UndatedProblem } from '../source.ts';
import { createTransitionTimes } from '../transition-times.ts';
import { ApiFailure } from './api/api-failure.ts';
import { type Cluster, openCluster } from './api/cluster.ts';
import type { Resource } from './api/resource.ts';
import { type ClusterReports, Feedback } from './feedback.ts';
import type { KubernetesSettings } from './flags.ts';
import { addressesToDivide } from './gateway/gateway-addresses.ts';
import type { Ingress } from './objects/ingress.ts';
import { KUBERNETES_SOURCE } from './objects/owner.ts';
import type { ClusterTranslation } from './routes/cluster-snapshot.ts';
import { lostTargets, targetsIn } from './routes/lost-targets.ts';
import { translate } from './routes/translate.ts';
import { ClusterStores } from './watch/cluster-stores.ts';
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

type Listed = Extract<Snapshot, { kind: 'listed' }>;

/** A connection to the cluster, and what is known by it. */
type Watch = {
  readonly cluster: Cluster;
  readonly stores: ClusterStores;
  readonly feedback: Feedback;
  /** Why a list can't be read at the moment, by list. */
  readonly failures: Map<string, string>;
  isListed: boolean;
};

/** A cluster as a source of routes: its Ingresses, Gateways and annotated Services. Nothing is listed until every kind of object has been. */
export const createKubernetesSource = (options: KubernetesSourceOptions): Source => new KubernetesSource(options);

class KubernetesSource implements Source {
  readonly name = KUBERNETES_SOURCE;
  private readonly options: KubernetesSourceOptions;
  private readonly identity: string;
  private readonly addresses: ReturnType<typeof addressesToDivide>;
  private readonly withTransitionTimes: ReturnType<typeof createTransitionTimes>;
  /** undefined while the source is not running. */
  private emit: ((snapshot: Snapshot) => void) | undefined;
  /** The latest one. */
  private watch: Watch | undefined;
  private cancelPublish: (() => void) | undefined;
  private latestReadings: readonly Reading[] = [];
  private lastGood: ReadonlyMap<string, Ingress> = new Map();
  private targets: ReadonlySet<string> = new Set();
  /** The statuses and refusals of snapshots that may still be served. */
  private readonly reports = new WeakMap<Snapshot, ClusterReports>();

  constructor(options: KubernetesSourceOptions) {
    const { settings, clock, random, pod = null, interfaces = [] } = options;
    this.options = options;
    this.identity = pod ?? `${hostname()}_${random.hex(4)}`;
    this.addresses = addressesToDivide(settings.publish, pod !== null, interfaces);
    this.withTransitionTimes = createTransitionTimes(clock);
  }

  async run(signal: AbortSignal, emit: (snapshot: Snapshot) => void): Promise<void> {
    const { settings, clock, random, log, open } = this.options;
    const openApi = open ?? (() => openCluster({ kubeconfig: settings.kubeconfig, clock }));
    const backoff = createBackoff(random);
    let lastError = '';
    this.emit = emit;
    signal.addEventListener('abort', () => this.mute(), { once: true });
    while (!signal.aborted) {
      try {
        const watch = this.watching(await openApi());
        this.watch = watch;
        await Promise.all([watch.stores.run(signal), watch.feedback.run(signal)]);
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof ApiFailure)) throw error;
        if (error.message !== lastError) {
          lastError = error.message;
          log.warn({ reason: lastError }, 'there is no cluster to watch; trying again');
          emit({ kind: 'failed', source: KUBERNETES_SOURCE, errors: [lastError] });
        }
        await sleep(clock, backoff.next(), signal);
      }
    }
  }

  relist(): void {
    this.watch?.stores.relist();
  }

  readings(): readonly Reading[] {
    return this.latestReadings;
  }

  served(one: ServedSnapshot): void {
    const due = this.reports.get(one.snapshot);
    if (due) this.watch?.feedback.served(due, one);
  }

  private mute(): void {
    this.emit = undefined;
    this.cancelPublish?.();
    this.cancelPublish = undefined;
  }

  private watching(cluster: Cluster): Watch {
    const { settings, clock, random, log } = this.options;
    const parts = { cluster, clock, random, log, changed: () => this.publishSoon(watch) };
    const storeOf = <T>(resource: Resource<T>) =>
      new ResourceStore<T>({
        ...parts,
        resource,
        namespaces: settings.namespaces,
        statusChanged: (key) => watch.feedback.statusChanged(resource, key),
        failed: (place, reason) => (reason === null ? this.readable(watch, place) : this.unreadable(watch, place, reason)),
      });
    const stores = new ClusterStores(storeOf);
    const seen = (resource: Resource<unknown>, key: string) => stores.status(resource, key);
    const feedback = new Feedback({ ...parts, settings, identity: this.identity, seen });
    const watch: Watch = { cluster, stores, feedback, failures: new Map(), isListed: false };
    return watch;
  }

  private unreadable({ failures }: Watch, place: string, reason: string): void {
    // An unavailable API server fails for every kind of object, which is logged once, however each connection ends.
    const isNews = ![...failures.values()].some((known) => gistOf(known) === gistOf(reason));
    if (isNews) this.options.log.warn({ place, reason }, 'the cluster cannot be read; routes stay, trying again');
    failures.set(place, reason);
    this.emit?.({ kind: 'failed', source: KUBERNETES_SOURCE, errors: [...new Set(failures.values())] });
  }

  private readable(watch: Watch, place: string): void {
    watch.failures.delete(place);
    if (watch.failures.size > 0) return;
    this.options.log.info('the cluster can be read again');
    this.publishSoon(watch);
  }

  private publishSoon(watch: Watch): void {
    this.cancelPublish ??= this.options.clock.after(QUIET_MS, () => {
      this.cancelPublish = undefined;
      this.publish(watch);
    });
  }

  private publish(watch: Watch): void {
    if (!this.emit || !watch.stores.synced) return;
    const { settings, readDirective } = this.options;
    const { ingressClass, portMap } = settings;
    const objects = watch.stores.objects();
    if (!watch.isListed) this.logWatched(watch.cluster, objects);
    watch.isListed = true;
    const { addresses, lastGood, targets: before } = this;
    const translation = translate({ ...objects, ingressClass, readDirective, portMap, addresses, lastGood });
    this.lastGood = translation.lastGood;
    this.latestReadings = this.withTransitionTimes(translation.readings);
    this.targets = targetsIn(translation.routes);
    const snapshot = snapshotOf(translation, problemsOf(watch), lostTargets(before, this.targets));
    this.reports.set(snapshot, translation);
    this.emit(snapshot);
  }

  private logWatched({ where }: Cluster, { ingresses, services, gateways }: ReturnType<ClusterStores['objects']>): void {
    const counts = { ingresses: ingresses.size, services: services.size, gateways: gateways.size };
    this.options.log.info({ cluster: where, ...counts }, 'the cluster is watched');
  }
}

function snapshotOf(translation: ClusterTranslation, general: readonly UndatedProblem[], urgent: boolean): Listed {
  const { routes, certificates, settings } = translation;
  const problems = [...general, ...translation.problems];
  const listed = { kind: 'listed', source: KUBERNETES_SOURCE, routes, certificates, problems, urgent } as const;
  return settings === null ? listed : { ...listed, settings };
}

/** Problems with the cluster, not with one object. Objects that can't be read keep their last state; nothing is withdrawn because of it. */
function problemsOf({ failures, stores, feedback }: Watch): UndatedProblem[] {
  const unread = [...new Set(failures.values())].map((message) => ({ ...ABOUT, domain: null, code: SOURCE_FAILED, message }));
  const lacking = Object.entries({ unknown_kind: stores.unknownKinds, no_address: feedback.problem() }).flatMap(([code, message]) =>
    message === null ? [] : [{ ...ABOUT, domain: null, code, message }],
  );
  return [...unread, ...lacking];
}
