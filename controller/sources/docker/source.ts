import { createBackoff } from '../../../shared/runtime/backoff.ts';
import { type Clock, sleep } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import type { DataplaneEvent, Reading, Snapshot, Source, UndatedProblem } from '../source.ts';
import { createTransitionTimes } from '../transition-times.ts';
import { type ChangeLog, createChangeLog } from './change-log.ts';
import { createEngine, type Engine } from './engine/engine.ts';
import { EngineFailure } from './engine/engine-failure.ts';
import type { DockerSettings } from './flags.ts';
import { DataplaneNetworks } from './network/network-reach.ts';
import { beforeTheyEnded } from './routes/ended-lately.ts';
import { DOCKER_SOURCE, type EngineSnapshot, type Translation } from './routes/engine-snapshot.ts';
import type { LastGood } from './routes/last-good.ts';
import { LostTargets } from './routes/lost-targets.ts';
import { type ContainerReadiness, lostReadiness, readinessOf } from './routes/readiness.ts';
import { RetainedRoutes } from './routes/retained-routes.ts';
import { originOf } from './routes/site-reading.ts';
import { translate as toRoutes } from './routes/translate.ts';
import { TargetHealth } from './target-health.ts';
import { ContainerStore, type UnreadableContainer } from './watch/container-store.ts';
import { createDraining, type Draining } from './watch/draining.ts';
import { Reflector } from './watch/reflector.ts';

export type DockerSourceOptions = {
  readonly settings: DockerSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The settings for building routes from containers. */
  readonly translate?: (snapshot: EngineSnapshot) => Translation;
};

/** How many containers that can't be inspected are reported. */
const MAX_UNREADABLE = 100;

/**
 * The time between attempts to reach the engine (ms): once it is back, containers may have each other's addresses, and requests go to the
 * wrong ones until it is listed.
 */
const UNREACHED_RETRY_MS = 250;

/** If something else than an engine has responded for this long (ms), it is asked less and less often. */
const RETURNS_WITHIN_MS = 60_000;

/** How long an engine that is reached may take to respond (ms), before it counts as one that restarts. */
const SILENT_MS = 1_000;

/** How long the end of a time is waited with for others (ms). */
const SOON_MS = 20;

/** A session that lasts this long (ms) was a success: an engine that ends each sooner is listed less and less often. */
const LASTING_MS = 5_000;

type Listed = Extract<Snapshot, { kind: 'listed' }>;
type Failed = Extract<Snapshot, { kind: 'failed' }>;

/** `unlisted` until the engine is first listed, `away` from a failure until it is listed again. */
type EngineState = { readonly kind: 'unlisted' | 'listed' } | { readonly kind: 'away'; readonly failure: Failed };

/** Containers as a source of routes. Nothing is listed until a data plane has reported its addresses. */
export const createDockerSource = (options: DockerSourceOptions): Source => new DockerSource(options);

class DockerSource implements Source {
  readonly name = DOCKER_SOURCE;
  readonly awaitsDataplane = true;
  private readonly options: DockerSourceOptions;
  private readonly engine: Engine;
  private readonly store: ContainerStore;
  private readonly draining: Draining;
  private readonly reflector: Reflector;
  private readonly networks = new DataplaneNetworks();
  private readonly retained: RetainedRoutes;
  private readonly lost = new LostTargets();
  private readonly health: TargetHealth;
  private readonly changes: ChangeLog;
  private readonly withTransitionTimes: ReturnType<typeof createTransitionTimes>;
  private engineState: EngineState = { kind: 'unlisted' };
  /** undefined while the source is not running. */
  private emit: ((snapshot: Snapshot) => void) | undefined;
  /** The latest one. */
  private listing: Listed | undefined;
  private latestReadings: readonly Reading[] = [];
  private lastGood: LastGood = new Map();
  private readiness: ReadonlyMap<string, ContainerReadiness> = new Map();
  /** Whether a listing follows in this turn of the event loop, and whether it is because of a loss. */
  private pending: { isLoss: boolean } | undefined;
  private cancelSoon: (() => void) | undefined;
  private cancelSilent = (): void => undefined;
  /** When the engine, once listed, was last known to be there (ms, monotonic). */
  private syncedAt = Number.NEGATIVE_INFINITY;

  constructor(options: DockerSourceOptions) {
    const { settings, clock, log } = options;
    const publishSoon = () => this.publishSoon();
    this.options = options;
    this.engine = createEngine(settings.engine, clock);
    this.store = new ContainerStore(clock);
    this.draining = createDraining(clock, publishSoon, (id) => this.store.get(id));
    this.retained = new RetainedRoutes(clock, publishSoon);
    this.health = new TargetHealth(clock);
    this.changes = createChangeLog(log);
    this.withTransitionTimes = createTransitionTimes(clock);
    this.reflector = new Reflector({
      engine: this.engine,
      clock,
      store: this.store,
      draining: this.draining,
      isDataplane: (id) => this.isDataplane(id),
      changed: (isLoss) => this.publishOnce(isLoss),
      opened: () => this.cancelSilent(),
      synced: () => this.synced(),
    });
  }

  async run(signal: AbortSignal, emit: (snapshot: Snapshot) => void): Promise<void> {
    const { clock, random } = this.options;
    const backoff = createBackoff(random);
    this.emit = emit;
    signal.addEventListener('abort', () => this.mute(), { once: true });
    while (!signal.aborted) {
      const began = clock.monotonic();
      // Where systemd holds the socket, an engine that restarts is reached, but does not respond.
      this.cancelSilent = clock.after(SILENT_MS, () => this.leaveOutStopping());
      try {
        await this.reflector.runSession(signal);
        backoff.reset();
      } catch (error) {
        this.cancelSilent();
        if (signal.aborted) break;
        if (!(error instanceof EngineFailure)) throw error;
        if (clock.monotonic() - began >= LASTING_MS) backoff.reset();
        // It was there until now.
        if (this.engineState.kind === 'listed') this.syncedAt = clock.monotonic();
        this.failed(error);
        // Each attempt that is forbidden, or that a web server answers, may be a line in a log.
        const isOther = error.isNoEngine && clock.monotonic() - this.syncedAt > RETURNS_WITHIN_MS;
        await sleep(clock, isAway(error) && !isOther ? UNREACHED_RETRY_MS : backoff.next(), signal);
      }
    }
    this.ended();
  }

  relist(): void {
    this.reflector.relist();
  }

  readings(): readonly Reading[] {
    return this.latestReadings.map((reading) => this.health.applyTo(reading));
  }

  notify(event: DataplaneEvent): void {
    if (event.kind === 'upstream') {
      this.health.record(event);
      // A stream of events may be silent without having ended.
      if (event.id === undefined || event.healthy) return;
      this.reflector.doubt(event.id);
      this.leaveOut([event.id], 'a container stopped responding while the engine is away');
      return;
    }
    if (!event.applied.addresses) return;
    // The shared networks depend on it.
    this.networks.reported(event.dataplane, event.applied.addresses);
    this.reflector.relist();
  }

  /** The engine has been listed, and its containers inspected. */
  private synced(): void {
    const { engine, store } = this;
    const wasListed = this.engineState.kind === 'listed';
    this.syncedAt = this.options.clock.monotonic();
    if (!wasListed) this.options.log.info({ engine: engine.where, containers: store.size }, 'containers are discovered');
    this.engineState = { kind: 'listed' };
    this.lost.clear();
    this.networks.locate(store.summaries());
    // While it was away, another container may have got the address of one.
    this.publish(!wasListed && this.listing !== undefined);
  }

  private failed(error: EngineFailure): void {
    const { message } = error;
    const { engineState: before } = this;
    if (before.kind !== 'away' || before.failure.errors[0] !== message) {
      this.options.log.warn({ engine: this.engine.where, reason: message }, 'containers cannot be listed; routes stay, trying again');
      const failure: Failed = { kind: 'failed', source: DOCKER_SOURCE, errors: [message] };
      this.engineState = { kind: 'away', failure };
      this.emit?.(failure);
    }
    if (isAway(error)) this.leaveOutStopping();
  }

  private mute(): void {
    this.emit = undefined;
  }

  private ended(): void {
    this.mute();
    this.engineState = { kind: 'unlisted' };
    this.cancelSilent();
    this.draining.stop();
    this.retained.stop();
    this.cancelSoon?.();
    this.cancelSoon = undefined;
  }

  /** Once for all events that are read at a time: of a thousand containers that end together, each takes as long as all. */
  private publishOnce(isLoss = false): void {
    if (this.pending) {
      this.pending.isLoss ||= isLoss;
      return;
    }
    const pending = { isLoss };
    this.pending = pending;
    queueMicrotask(() => {
      this.pending = undefined;
      this.publish(pending.isLoss);
    });
  }

  /** Once for all times that are over together: thousands of domains may have been removed at once. */
  private publishSoon(): void {
    this.cancelSoon ??= this.options.clock.after(SOON_MS, () => {
      this.cancelSoon = undefined;
      this.publish();
    });
  }

  private publish(isLoss = false): void {
    if (!this.emit || this.engineState.kind !== 'listed') return;
    const snapshot = this.engineSnapshot();
    const { translate = toRoutes } = this.options;
    const isFirst = this.listing === undefined && snapshot.reach.kind !== 'unknown';
    if (isFirst) this.retained.begin(translate(beforeTheyEnded(snapshot)).routes);
    const translation = translate(snapshot);
    this.lastGood = translation.lastGood;
    this.latestReadings = this.withTransitionTimes(translation.readings);
    if (snapshot.reach.kind === 'unknown') return;
    this.changes.record(snapshot, translation.readings);
    const before = this.readiness;
    this.readiness = readinessOf(snapshot);
    this.listing = {
      kind: 'listed',
      source: DOCKER_SOURCE,
      routes: this.retained.merge(translation.routes),
      problems: [...translation.problems, ...this.store.unreadableOnes().slice(0, MAX_UNREADABLE).map(notInspected)],
      urgent: isLoss || lostReadiness(before, this.readiness),
    };
    this.emit(this.listing);
  }

  private engineSnapshot(): EngineSnapshot {
    const { settings, clock } = this.options;
    const { addresses, network, elsewhere } = settings;
    const seen = { containers: this.store.containers(), draining: this.draining.ids(), reach: this.networks.reach() };
    return { ...seen, addresses, network, elsewhere, lastGood: this.lastGood, now: clock.now() };
  }

  /** Until the engine can be listed again. */
  private leaveOut(ids: Iterable<string>, why: string): void {
    const { emit, listing, engineState, store } = this;
    if (!emit || !listing || engineState.kind !== 'away') return;
    const added = this.lost.add(ids, listing.routes);
    if (added.length === 0) return;
    for (const id of added)
      this.options.log.warn({ container: store.get(id)?.name, id: id.slice(0, 12) }, `${why}: not used until it is listed`);
    emit({ ...listing, routes: this.lost.leaveOut(listing.routes), urgent: true, repeated: true });
    emit(engineState.failure);
  }

  /** An engine that ends has told all its containers to stop. It reports the end of few of them, and they get other addresses. */
  private leaveOutStopping(): void {
    this.leaveOut(this.draining.ids(), 'a container was told to stop before the engine went away');
  }

  private isDataplane(id: string): boolean {
    const reach = this.networks.reach();
    return reach.kind === 'networks' && reach.dataplanes.has(id);
  }
}

/** Whether nothing responds, and not a proxy in its place. */
const isAway = ({ isUnreached, isForbidden }: EngineFailure): boolean => isUnreached && !isForbidden;

const notInspected = (container: UnreadableContainer): UndatedProblem => ({
  source: DOCKER_SOURCE,
  origin: originOf(container),
  domain: null,
  code: container.cause === 'forbidden' ? 'not_inspectable' : 'not_inspected',
  message: `${container.reason}; ${ADVICE[container.cause](container.name)}`,
});

const AS_LISTED = 'only what the engine lists of the container is known';

const recreate = (name: string): string => `recreate it, if need be after docker rm -f ${name}, or restart the engine`;

const ADVICE: Readonly<Record<UnreadableContainer['cause'], (name: string) => string>> = {
  failed: (name) => `${AS_LISTED}: ${recreate(name)}`,
  forbidden: () => AS_LISTED,
  // Said first, because recreating the container would not help, and restarting the engine may end all of them.
  awaited: (name) =>
    `the engine may be waiting for a volume or network of the container, of which only what the engine lists is known until it responds; if it never does, ${recreate(name)}`,
};
