import { type Clock, sleep } from '../../../../shared/runtime/clock.ts';
import type { ListedContainer } from '../engine/container-summary.ts';
import type { Engine, EngineSession } from '../engine/engine.ts';
import type { EngineEvent } from '../engine/engine-event.ts';
import { EngineFailure } from '../engine/engine-failure.ts';
import { hasOwnLabel, type Inventory } from './container-store.ts';
import type { Lifecycle } from './draining.ts';
import { isStopSignal } from './stop-signals.ts';

/** A session lasts this long (ms); the next one subscribes and lists anew, whatever became of the stream of the last. */
export const SESSION_MS = 60_000;
/** Questions about what events named are this far apart (ms): a storm of events is a few rounds, a single one waits for nothing. */
export const PACE_MS = 20;
/** An engine that was away and has no container of ours any more is asked again after this long before it is believed (ms). */
export const SECOND_LISTING_MS = 5_000;
/** As many events are remembered as heard; engines tell the last 256 again at most. */
const MOST_HEARD = 1_000;
/** How far back the first session looks for signals whose container has not ended yet (ms). */
const LOOK_BACK_MS = 60_000;

export type ConversationParts = {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly inventory: Inventory;
  readonly lifecycle: Lifecycle;
  /** Whether a container is a data plane's own, whose networks matter though it has no label. */
  readonly isHome: (id: string) => boolean;
  /** The inventory or the lifecycle is another than before; called at once where a target was lost. */
  readonly changed: () => void;
  /** The engine answers, and everything about it is known. */
  readonly listed: () => void;
};

/** Keeps the inventory equal to what the engine has: subscribe first, then list, then inspect what events name. */
export class Conversation {
  private readonly parts: ConversationParts;
  /** When the last event happened that was heard (ms, the engine's clock, which may differ from ours and jump). */
  private since: number;
  /** What a new stream tells again is not new. */
  private readonly heard = new Set<string>();
  private wantsList = false;
  /** The engine was away: what is known may be outdated, and an empty list may be a half-started engine's. */
  private inDoubt = false;
  private emptySince: number | undefined;
  private wake: () => void = () => undefined;

  constructor(parts: ConversationParts) {
    this.parts = parts;
    this.since = parts.clock.now() - LOOK_BACK_MS;
  }

  /** Asks for everything again, soon. */
  relist(): void {
    this.wantsList = true;
    this.wake();
  }

  /** One session, from its opening to its end or the signal. @throws EngineFailure when the engine went away or never came. */
  async hold(signal: AbortSignal): Promise<void> {
    const { engine, clock } = this.parts;
    try {
      const session = await engine.open();
      const over = new AbortController();
      const end = () => over.abort();
      const cancel = clock.after(SESSION_MS, end);
      signal.addEventListener('abort', end, { once: true });
      try {
        if (!signal.aborted) await this.serve(session, over);
      } finally {
        cancel();
        signal.removeEventListener('abort', end);
        over.abort();
        session.close();
      }
    } catch (error) {
      if (error instanceof EngineFailure) this.inDoubt = true;
      throw error;
    }
  }

  private async serve(session: EngineSession, { signal: over }: AbortController): Promise<void> {
    const cut = Promise.withResolvers<never>();
    await Promise.race([session.follow(this.since, (event) => this.hear(event), cut.reject), cut.promise]);
    this.wantsList = true;
    const rounds = async () => {
      while (!over.aborted) {
        await this.round(session);
        await sleep(this.parts.clock, PACE_MS, over);
        await this.news(over);
      }
    };
    await Promise.race([rounds(), cut.promise]);
  }

  /** Resolves when there is something to ask, or the session is over. */
  private news(over: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        over.removeEventListener('abort', wake);
        resolve();
      };
      this.wake = wake;
      over.addEventListener('abort', wake, { once: true });
      if (over.aborted || this.wantsList || this.parts.inventory.hasNews()) wake();
    });
  }

  private async round(session: EngineSession): Promise<void> {
    const { inventory, changed, listed } = this.parts;
    const isListing = this.wantsList;
    this.wantsList = false;
    const isKnown = isListing && this.take(await session.list());
    const isNew = await inventory.inspect(session);
    if (isKnown) listed();
    else if (isNew) changed();
  }

  /** @returns false when the list is not believed yet. */
  private take(containers: readonly ListedContainer[]): boolean {
    const { inventory, lifecycle, clock } = this.parts;
    const isEmpty = !containers.some(({ labels }) => hasOwnLabel(labels));
    if (this.inDoubt && isEmpty && inventory.size > 0) {
      this.emptySince ??= clock.monotonic();
      const left = this.emptySince + SECOND_LISTING_MS - clock.monotonic();
      if (left > 0) {
        clock.after(left, () => this.relist());
        return false;
      }
    }
    if (this.inDoubt) inventory.touchAll();
    this.inDoubt = false;
    this.emptySince = undefined;
    for (const id of inventory.take(containers)) lifecycle.over(id);
    return true;
  }

  private hear(event: EngineEvent): void {
    const { inventory, isHome } = this.parts;
    const key = `${event.at} ${event.action} ${event.id}`;
    if (this.heard.has(key)) return;
    this.heard.add(key);
    const [oldest] = this.heard.size > MOST_HEARD ? this.heard : [];
    if (oldest !== undefined) this.heard.delete(oldest);
    this.since = event.at;
    const isOurs = inventory.get(event.id) !== undefined || (event.labels !== undefined && hasOwnLabel(event.labels));
    if (isOurs) this.happened(event);
    else if (isHome(event.id)) this.relist();
  }

  private happened({ action, id, signal }: EngineEvent): void {
    const { inventory, lifecycle, changed } = this.parts;
    switch (action) {
      case 'kill': {
        if (signal === undefined || !isStopSignal(signal, inventory.get(id)?.stopSignal ?? null)) return;
        lifecycle.stopping(id);
        return changed();
      }
      case 'die': {
        lifecycle.over(id);
        if (inventory.ended(id)) changed();
        break;
      }
      case 'destroy': {
        lifecycle.over(id);
        if (inventory.gone(id)) changed();
        return;
      }
      case 'start': {
        inventory.touch(id);
        if (lifecycle.over(id)) changed();
        break;
      }
      default:
        inventory.touch(id);
    }
    // An engine that tells what happens is up, and its list may be believed by now.
    if (this.inDoubt) this.wantsList = true;
    this.wake();
  }
}
