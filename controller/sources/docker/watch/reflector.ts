import { type Clock, sleep } from '../../../../shared/runtime/clock.ts';
import type { ContainerSummary } from '../engine/container-summary.ts';
import type { Engine, EngineSession } from '../engine/engine.ts';
import type { EngineEvent } from '../engine/engine-event.ts';
import { EngineFailure } from '../engine/engine-failure.ts';
import { type ContainerStore, hasOwnLabel } from './container-store.ts';
import type { Draining } from './draining.ts';
import { isStopSignal } from './stop-signals.ts';

/** The length of a session (ms); the next one subscribes and lists again, even if the last stream still works. */
export const RESYNC_MS = 60_000;
/** The time between rounds of requests caused by events (ms): many events cause few rounds, a single one is handled at once. */
const SYNC_INTERVAL_MS = 20;
/** An engine that failed and now has none of our containers is queried again after this time before the list counts (ms). */
export const SECOND_LISTING_MS = 5_000;
/** How many events are remembered; engines repeat at most the last 256. */
const MAX_SEEN_EVENTS = 1_000;
/** The time between lists because of containers that can't be inspected (ms). */
export const LIST_AGAIN_MS = 5_000;
/** The time after which an engine has recorded what it has reported early (ms). */
const EARLY_MS = 1_000;
/** How far back the first session looks for stop signals to containers that are still running (ms): few may take longer to stop. */
const LOOK_BACK_MS = 3_600_000;

export type ReflectorOptions = {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly store: ContainerStore;
  readonly draining: Draining;
  /** Whether a container is a data plane's own, whose networks matter although it has no label. */
  readonly isDataplane: (id: string) => boolean;
  /** The store or the set of draining containers changed; called at once if a target was lost. `isLoss`: it was, with its address. */
  readonly changed: (isLoss?: boolean) => void;
  /** The engine responds. */
  readonly opened: () => void;
  /** The engine responds, and its state is fully known. */
  readonly synced: () => void;
};

/** Keeps the store equal to the engine's state: subscribe, then list, then inspect the containers of events. */
export class Reflector {
  private readonly options: ReflectorOptions;
  /** The time of the last event (ms, by the engine's clock, which may differ from ours and jump). */
  private since: number | undefined;
  /** How far the engine's clock is ahead of ours (ms). */
  private skew = 0;
  /** Events already seen, since a new stream repeats some. */
  private readonly seenEvents = new Set<string>();
  private listRequested = false;
  /** The engine has failed: known state may be outdated, and an empty list may come from an engine that is still starting. */
  private isStale = false;
  private emptySince: number | undefined;
  private cancelSecondListing: () => void = () => undefined;
  /** Whether a list has been accepted since the start, and whether its containers have been inspected. */
  private hasListed = false;
  private hasSynced = false;
  /** When the next list because of containers that can't be inspected may be requested. */
  private mayListAgainAt = Number.NEGATIVE_INFINITY;
  private cancelListAgain: () => void = () => undefined;
  /** Whether something has happened since the last round began. */
  private isWoken = false;
  private resume: () => void = () => undefined;

  constructor(options: ReflectorOptions) {
    this.options = options;
  }

  /** Requests everything again, soon. */
  relist(): void {
    this.listRequested = true;
    this.wake();
  }

  /** What is known of a container may not be true, although no event says so. */
  doubt(id: string): void {
    const { store } = this.options;
    if (store.get(id) === undefined) return;
    store.markDirty(id);
    this.wake();
  }

  /** One session, until it ends or the signal is aborted. @throws EngineFailure if the engine failed or was never available. */
  async runSession(signal: AbortSignal): Promise<void> {
    const { engine, clock } = this.options;
    try {
      const session = await engine.open(signal);
      this.options.opened();
      const over = new AbortController();
      const end = () => over.abort();
      const cancel = clock.after(RESYNC_MS, end);
      // Of this session: the signal outlives a thousand of them a day.
      const stopped = Promise.withResolvers<void>();
      const stop = () => {
        end();
        stopped.resolve();
      };
      signal.addEventListener('abort', stop, { once: true });
      try {
        // Does not wait for the response of a slow engine.
        if (!signal.aborted) await Promise.race([this.followAndSync(session, over), stopped.promise]);
      } finally {
        cancel();
        this.cancelSecondListing();
        this.cancelListAgain();
        signal.removeEventListener('abort', stop);
        over.abort();
        session.close();
        this.options.store.abandon();
      }
    } catch (error) {
      if (error instanceof EngineFailure) this.isStale = true;
      throw error;
    }
  }

  private async followAndSync(session: EngineSession, { signal: over }: AbortController): Promise<void> {
    const cut = Promise.withResolvers<never>();
    this.skew = session.openedAt - this.options.clock.now();
    // If its clock was set back, the last event is later than now.
    const since = Math.min(this.since ?? session.openedAt - LOOK_BACK_MS, session.openedAt);
    await Promise.race([session.follow(since, (event) => this.onEvent(event), cut.reject), cut.promise]);
    this.listRequested = true;
    const rounds = async () => {
      while (!over.aborted) {
        await this.sync(session, over);
        await sleep(this.options.clock, SYNC_INTERVAL_MS, over);
        await this.nextWork(over);
      }
    };
    await Promise.race([rounds(), cut.promise]);
  }

  /** Resolves when there is something to request, or the session is over. */
  private nextWork(over: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const resume = () => {
        over.removeEventListener('abort', resume);
        resolve();
      };
      this.resume = resume;
      over.addEventListener('abort', resume, { once: true });
      if (over.aborted || this.isWoken || this.listRequested || this.options.store.hasDirty()) resume();
    });
  }

  private wake(): void {
    this.isWoken = true;
    this.resume();
  }

  private async sync(session: EngineSession, over: AbortSignal): Promise<void> {
    const { store, changed, synced } = this.options;
    this.isWoken = false;
    const isListing = this.listRequested;
    const isReturn = this.isStale && this.hasSynced;
    this.listRequested = false;
    if (isListing) store.listRequested();
    const isKnown = isListing && this.accept(await session.list());
    if (over.aborted) return;
    const isFirst = isKnown && !this.hasListed;
    this.hasListed ||= isKnown;
    // Containers may have each other's addresses by now. If the list has all of them, nothing has to wait for inspections.
    const isEarly = isKnown && isReturn && store.hasWholeList;
    if (isEarly) synced();
    const isNew = await store.inspectDirty(session, (isNew) => this.settled(isNew));
    // The session has failed meanwhile.
    if (over.aborted && this.isStale) return;
    if (store.needsList()) {
      // The routes of an earlier run may be those of a container about which nothing is known yet.
      if (isFirst) return this.relist();
      this.listAgain();
    }
    if (isKnown && !isEarly) {
      this.hasSynced = true;
      synced();
    } else if (isNew) changed();
  }

  private listAgain(): void {
    const { clock } = this.options;
    this.cancelListAgain();
    this.cancelListAgain = clock.after(Math.max(0, this.mayListAgainAt - clock.monotonic()), () => {
      this.mayListAgainAt = clock.monotonic() + LIST_AGAIN_MS;
      this.relist();
    });
  }

  /** The engine has inspected a container at last, or it is known that it takes long. */
  private settled(isNew: boolean): void {
    if (isNew) this.options.changed();
    this.wake();
  }

  /** @returns false if the list does not count yet. */
  private accept(containers: readonly ContainerSummary[]): boolean {
    const { store, draining, clock } = this.options;
    const isEmpty = !containers.some(({ labels }) => hasOwnLabel(labels));
    if (this.isStale && isEmpty && store.size > 0) {
      this.emptySince ??= clock.monotonic();
      const left = this.emptySince + SECOND_LISTING_MS - clock.monotonic();
      if (left > 0) {
        this.cancelSecondListing();
        this.cancelSecondListing = clock.after(left, () => this.relist());
        return false;
      }
    }
    const wasStale = this.isStale;
    if (wasStale) store.markAllDirty();
    this.isStale = false;
    this.emptySince = undefined;
    for (const id of store.applyList(containers, wasStale)) draining.end(id);
    return true;
  }

  private onEvent(event: EngineEvent): void {
    const { store, isDataplane } = this.options;
    const key = `${event.at} ${event.action} ${event.id} ${event.network ?? ''}`;
    if (this.seenEvents.has(key)) return;
    this.seenEvents.add(key);
    const [oldest] = this.seenEvents.size > MAX_SEEN_EVENTS ? this.seenEvents : [];
    if (oldest !== undefined) this.seenEvents.delete(oldest);
    this.since = event.at;
    store.noteEvent(event.id);
    const isOurs = store.isOurs(event.id) || (event.labels !== undefined && hasOwnLabel(event.labels));
    if (isOurs) this.apply(event);
    else if (isDataplane(event.id)) this.relist();
  }

  private apply({ action, id, signal, at, network, isEarly }: EngineEvent): void {
    const { store, draining, clock, changed } = this.options;
    switch (action) {
      case 'kill': {
        const container = store.get(id);
        if (signal === undefined || (container !== undefined && !isStopSignal(signal, container.stopSignal))) return;
        // What an engine repeats before it has been listed for the first time may be long ago.
        draining.begin(id, signal, at, this.hasListed ? 0 : Math.max(0, clock.now() + this.skew - at));
        return changed();
      }
      case 'die': {
        draining.end(id);
        if (store.markExited(id)) changed();
        break;
      }
      case 'disconnect': {
        if (store.markDisconnected(id, network ?? '')) changed(true);
        break;
      }
      case 'destroy': {
        draining.end(id);
        if (store.remove(id)) changed();
        return;
      }
      case 'start': {
        store.markDirty(id);
        if (draining.end(id)) changed();
        break;
      }
      default:
        store.markDirty(id);
        if (isEarly) clock.after(EARLY_MS, () => this.doubt(id));
    }
    // An engine that sends events is running, so its list may count now.
    if (this.isStale) this.listRequested = true;
    this.wake();
  }
}
