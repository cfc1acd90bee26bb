import { createBackoff } from '../../../shared/runtime/backoff.ts';
import { type Clock, sleep } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import type { ContainerReading, Snapshot, Source } from '../source.ts';
import { createDating } from '../transition-times.ts';
import { createChangeLog } from './change-log.ts';
import type { Engine } from './engine/engine.ts';
import { EngineFailure } from './engine/engine-failure.ts';
import type { DockerSettings } from './flags.ts';
import type { LastGood } from './labels/last-good.ts';
import { Whereabouts } from './network/network-reach.ts';
import { type Discovered, DOCKER_SOURCE, type World } from './routes/engine-snapshot.ts';
import { lostOne, type Nearness, rotationOf } from './routes/readiness.ts';
import { Lingering } from './routes/retained-routes.ts';
import { Inventory } from './watch/container-store.ts';
import { createLifecycle } from './watch/draining.ts';
import { Conversation } from './watch/reflector.ts';

export type DockerSource = Source & {
  /** Lists everything again, soon. */
  relist(): void;
  /** A data plane said which addresses its interfaces have: the networks that it shares follow from them. */
  heard(dataplane: string, addresses: readonly string[]): void;
  /** What became of each site of each labelled container. */
  readings(): readonly ContainerReading[];
};

export type DockerSourceOptions = {
  readonly engine: Engine;
  readonly settings: Pick<DockerSettings, 'addresses' | 'network'>;
  readonly discover: (world: World) => Discovered;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
};

/** Containers as a source of routes. Nothing is listed before a data plane has said where it is. */
export function createDockerSource({ engine, settings, discover, clock, random, log }: DockerSourceOptions): DockerSource {
  const where = new Whereabouts();
  const inventory = new Inventory();
  const lifecycle = createLifecycle(clock, () => publish());
  const lingering = new Lingering(clock, () => publish());
  const changes = createChangeLog(log);
  const dated = createDating(clock);
  let emit: ((snapshot: Snapshot) => void) | undefined;
  /** Whether the engine has been listed since it last failed. */
  let isListed = false;
  let readings: readonly ContainerReading[] = [];
  let lastGood: LastGood = new Map();
  let rotation: ReadonlyMap<string, Nearness> = new Map();

  const publish = () => {
    if (!emit || !isListed) return;
    const seen = { containers: inventory.containers(), draining: lifecycle.draining(), reach: where.reach(), lastGood, now: clock.now() };
    const world = { ...seen, ...settings };
    const discovered = discover(world);
    lastGood = discovered.lastGood;
    readings = dated(discovered.readings);
    if (world.reach.kind === 'unknown') return;
    changes.tell(world, discovered.readings);
    const before = rotation;
    rotation = rotationOf(world);
    const since = new Date(clock.now()).toISOString();
    emit({
      kind: 'listed',
      source: DOCKER_SOURCE,
      routes: lingering.with(discovered.routes),
      problems: discovered.problems.map((problem) => ({ ...problem, since })),
      urgent: lostOne(before, rotation),
    });
  };

  const conversation = new Conversation({
    engine,
    clock,
    inventory,
    lifecycle,
    isHome: (id) => {
      const shared = where.reach();
      return shared.kind === 'networks' && shared.homes.has(id);
    },
    changed: () => publish(),
    listed: () => {
      if (!isListed) log.info({ engine: engine.where, containers: inventory.size }, 'containers are discovered');
      isListed = true;
      where.listed(inventory.everything());
      publish();
    },
  });

  const run = async (signal: AbortSignal, tell: (snapshot: Snapshot) => void): Promise<void> => {
    const backoff = createBackoff(random);
    let told = '';
    emit = tell;
    while (!signal.aborted) {
      try {
        await conversation.hold(signal);
        backoff.reset();
      } catch (error) {
        if (!(error instanceof EngineFailure)) throw error;
        if (signal.aborted) break;
        if (isListed) backoff.reset();
        if (isListed || told !== error.message) {
          told = error.message;
          log.warn({ engine: engine.where, reason: told }, 'containers are not discovered; routes stay, trying again');
          tell({ kind: 'failed', source: DOCKER_SOURCE, errors: [told] });
        }
        isListed = false;
        await sleep(clock, backoff.next(), signal);
      }
    }
    emit = undefined;
    lifecycle.stop();
    lingering.stop();
  };

  return {
    name: DOCKER_SOURCE,
    run,
    relist: () => conversation.relist(),
    heard: (dataplane, addresses) => {
      where.heard(dataplane, addresses);
      conversation.relist();
    },
    readings: () => readings,
  };
}
