import { createBackoff } from '../../../shared/runtime/backoff.ts';
import { type Clock, sleep } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import type { Reading, Snapshot, Source, UndatedProblem } from '../source.ts';
import { createTransitionTimes } from '../transition-times.ts';
import { createChangeLog } from './change-log.ts';
import { createEngine } from './engine/engine.ts';
import { EngineFailure } from './engine/engine-failure.ts';
import type { DockerSettings } from './flags.ts';
import { DataplaneNetworks } from './network/network-reach.ts';
import { DOCKER_SOURCE, type EngineSnapshot, type Translation } from './routes/engine-snapshot.ts';
import type { LastGood } from './routes/last-good.ts';
import { LostTargets } from './routes/lost-targets.ts';
import { type ContainerReadiness, lostReadiness, readinessOf } from './routes/readiness.ts';
import { RetainedRoutes } from './routes/retained-routes.ts';
import { originOf } from './routes/site-reading.ts';
import { translate as toRoutes } from './routes/translate.ts';
import { TargetHealth } from './target-health.ts';
import { ContainerStore, type UnreadableContainer } from './watch/container-store.ts';
import { createDraining } from './watch/draining.ts';
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

/** How long an engine that is reached may take to respond (ms), before it counts as one that restarts. */
const SILENT_MS = 1_000;

/** How long the end of a time is waited with for others (ms). */
const SOON_MS = 20;

/** A session that lasts this long (ms) was a success: an engine that ends each sooner is listed less and less often. */
const LASTING_MS = 5_000;

/** Containers as a source of routes. Nothing is listed until a data plane has reported its addresses. */
export function createDockerSource({ settings, clock, random, log, translate = toRoutes }: DockerSourceOptions): Source {
  const engine = createEngine(settings.engine, clock);
  const networks = new DataplaneNetworks();
  const store = new ContainerStore(clock);
  const draining = createDraining(
    clock,
    () => publishSoon(),
    (id) => store.get(id),
  );
  const retained = new RetainedRoutes(clock, () => publishSoon());
  const changes = createChangeLog(log);
  const withTransitionTimes = createTransitionTimes(clock);
  const health = new TargetHealth(clock);
  const lost = new LostTargets();
  let emit: ((snapshot: Snapshot) => void) | undefined;
  let listing: Extract<Snapshot, { kind: 'listed' }> | undefined;
  let failure: Extract<Snapshot, { kind: 'failed' }> | undefined;
  /** Whether the engine has been listed since its last failure. */
  let isListed = false;
  let readings: readonly Reading[] = [];
  let lastGood: LastGood = new Map();
  let readiness: ReadonlyMap<string, ContainerReadiness> = new Map();

  const publish = (isLoss = false) => {
    if (!emit || !isListed) return;
    const { addresses, network, elsewhere } = settings;
    const seen = { containers: store.containers(), draining: draining.ids(), reach: networks.reach() };
    const snapshot = { ...seen, addresses, network, elsewhere, lastGood, now: clock.now() };
    const translation = translate(snapshot);
    lastGood = translation.lastGood;
    readings = withTransitionTimes(translation.readings);
    if (snapshot.reach.kind === 'unknown') return;
    changes.record(snapshot, translation.readings);
    const before = readiness;
    readiness = readinessOf(snapshot);
    listing = {
      kind: 'listed',
      source: DOCKER_SOURCE,
      routes: retained.merge(translation.routes),
      problems: [...translation.problems, ...store.unreadableOnes().slice(0, MAX_UNREADABLE).map(notInspected)],
      urgent: isLoss || lostReadiness(before, readiness),
    };
    emit(listing);
  };

  let isPending = false;
  let mayBeLoss = false;
  /** Once for all events that are read at a time: of a thousand containers that end together, each takes as long as all. */
  const publishOnce = (isLoss = false) => {
    mayBeLoss ||= isLoss;
    if (isPending) return;
    isPending = true;
    queueMicrotask(() => {
      const isLost = mayBeLoss;
      isPending = false;
      mayBeLoss = false;
      publish(isLost);
    });
  };

  let cancelSoon: (() => void) | undefined;
  /** Once for all times that are over together: thousands of domains may have been removed at once. */
  const publishSoon = () => {
    cancelSoon ??= clock.after(SOON_MS, () => {
      cancelSoon = undefined;
      publish();
    });
  };

  /** Until the engine can be listed again. */
  const leaveOut = (ids: Iterable<string>, why: string) => {
    if (!emit || isListed || !listing || !failure) return;
    const added = lost.add(ids, listing.routes);
    if (added.length === 0) return;
    for (const id of added) log.warn({ container: store.get(id)?.name, id: id.slice(0, 12) }, `${why}: not used until it is listed`);
    emit({ ...listing, routes: lost.leaveOut(listing.routes), urgent: true, repeated: true });
    emit(failure);
  };

  let cancelLate = (): void => undefined;
  /** An engine that ends has told all its containers to stop. It reports the end of few of them, and they get other addresses. */
  const leaveOutStopping = () => leaveOut(draining.ids(), 'a container was told to stop before the engine went away');

  const reflector = new Reflector({
    engine,
    clock,
    store,
    draining,
    isDataplane: (id) => {
      const shared = networks.reach();
      return shared.kind === 'networks' && shared.dataplanes.has(id);
    },
    changed: publishOnce,
    opened: () => cancelLate(),
    synced: () => {
      if (!isListed) log.info({ engine: engine.where, containers: store.size }, 'containers are discovered');
      // Another container may have the address of one by now.
      const mayBeLoss = !isListed && listing !== undefined;
      isListed = true;
      lost.clear();
      networks.locate(store.summaries());
      publish(mayBeLoss);
    },
  });

  const run = async (signal: AbortSignal, emitSnapshot: (snapshot: Snapshot) => void): Promise<void> => {
    const backoff = createBackoff(random);
    let lastError = '';
    emit = emitSnapshot;
    signal.addEventListener(
      'abort',
      () => {
        emit = undefined;
      },
      { once: true },
    );
    while (!signal.aborted) {
      const began = clock.monotonic();
      // Where systemd holds the socket, an engine that restarts is reached, but does not respond.
      cancelLate = clock.after(SILENT_MS, leaveOutStopping);
      try {
        await reflector.runSession(signal);
        backoff.reset();
      } catch (error) {
        cancelLate();
        if (signal.aborted) break;
        if (!(error instanceof EngineFailure)) throw error;
        if (clock.monotonic() - began >= LASTING_MS) backoff.reset();
        if (isListed || lastError !== error.message) {
          lastError = error.message;
          log.warn({ engine: engine.where, reason: lastError }, 'containers cannot be listed; routes stay, trying again');
          failure = { kind: 'failed', source: DOCKER_SOURCE, errors: [lastError] };
          emitSnapshot(failure);
        }
        isListed = false;
        if (error.isUnreached && !error.isForbidden) leaveOutStopping();
        await sleep(clock, error.isUnreached ? UNREACHED_RETRY_MS : backoff.next(), signal);
      }
    }
    emit = undefined;
    isListed = false;
    cancelLate();
    draining.stop();
    retained.stop();
    cancelSoon?.();
    cancelSoon = undefined;
  };

  return {
    name: DOCKER_SOURCE,
    awaitsDataplane: true,
    run,
    relist: () => reflector.relist(),
    readings: () => readings.map((reading) => health.applyTo(reading)),
    hear: (event) => {
      if (event.kind === 'upstream') {
        health.record(event);
        // A stream of events may be silent without having ended.
        if (event.id === undefined || event.healthy) return;
        reflector.doubt(event.id);
        return leaveOut([event.id], 'a container stopped responding while the engine is away');
      }
      if (!event.applied.addresses) return;
      // The shared networks depend on it.
      networks.reported(event.dataplane, event.applied.addresses);
      reflector.relist();
    },
  };
}

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
