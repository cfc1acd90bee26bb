import { LABEL_PREFIX } from '../../../../shared/name.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { type Container, type Inspection, type PublishedPort, readContainer } from '../engine/container.ts';
import type { ContainerSummary } from '../engine/container-summary.ts';
import { EngineFailure } from '../engine/engine-failure.ts';
import { type InProgress, Inspections } from './inspections.ts';

/** How many containers are inspected at a time: an engine that is starting containers has other work too. */
const INSPECTIONS_AT_ONCE = 8;

/** The part of a session with the engine that is needed here. */
type Inspector = { inspect(id: string, late?: (failure: EngineFailure) => void): Promise<Inspection | undefined> };

/** undefined: the container no longer exists. */
type Running = InProgress<Inspection | undefined>;

/** Called after the round for each container that was not waited for, with whether anything changed. */
type Settled = (changed: boolean) => void;

type Entry = {
  container: Container;
  /** As JSON, to detect whether an inspection found a change; empty if something else has changed it since. */
  text: string;
  /** The entry in the list with which it was read, as JSON; empty if it was in none, or an event has changed it since. */
  listed: string;
};

/** A container that the engine lists and can't inspect. `awaited`: its response is used whenever it comes. */
export type UnreadableContainer = {
  readonly id: string;
  readonly name: string;
  readonly reason: string;
  readonly cause: 'awaited' | 'forbidden' | 'failed';
};

/** The states in which a container has no address. */
const STOPPED: ReadonlySet<string> = new Set(['created', 'exited', 'dead', 'removing']);

/**
 * The labelled containers as last listed or inspected. An inspection, which says more, is used until an event concerns its container or the
 * entry in the engine's list changes.
 */
export class ContainerStore {
  private readonly entries = new Map<string, Entry>();
  private readonly dirty = new Set<string>();
  private readonly inspections: Inspections<Inspection | undefined>;
  private lastList: readonly ContainerSummary[] = [];
  private readonly unreadable = new Map<string, UnreadableContainer>();
  /** Containers that an event has concerned since the last list was requested, which may be older than that. */
  private readonly newer = new Set<string>();
  /** Whether the last list says all that it could. */
  private isListComplete = true;

  constructor(clock: Clock) {
    this.inspections = new Inspections(clock);
  }

  /** Labelled ones, the oldest first. */
  containers(): Container[] {
    return [...this.entries.values()]
      .map(({ container }) => container)
      .sort((a, b) => a.createdAt.localeCompare(b.createdAt) || (a.id < b.id ? -1 : 1));
  }

  /** All containers of the engine's last list, labelled or not. */
  summaries(): readonly ContainerSummary[] {
    return this.lastList;
  }

  /** Those that the engine could not inspect the last time. */
  unreadableOnes(): UnreadableContainer[] {
    return [...this.unreadable.values()];
  }

  get(id: string): Container | undefined {
    return this.entries.get(id)?.container;
  }

  /** Whether it has a label as far as is known, or is being inspected for the first time. */
  isOurs(id: string): boolean {
    return this.entries.has(id) || this.unreadable.has(id) || this.inspections.has(id);
  }

  get size(): number {
    return this.entries.size;
  }

  /** A list is requested: it contains what events have said before. */
  listRequested(): void {
    this.newer.clear();
  }

  /** An event concerned this container, labelled or not: what a list says of it that is on its way may be older. */
  noteEvent(id: string): void {
    this.newer.add(id);
  }

  /** Whether another list would say what is not known of a container, because it can't be inspected, or not yet. */
  needsList(): boolean {
    const waiting = this.inspections.isFull ? this.dirty : [];
    for (const id of [...this.unreadable.keys(), ...waiting]) if (!this.entries.has(id) || this.newer.has(id)) return true;
    return this.lastList.some((one) => !this.entries.has(one.id) && this.inspections.has(one.id) && !STOPPED.has(one.container.status));
  }

  /** Whether there is something to inspect now. */
  hasDirty(): boolean {
    return this.toInspect().length > 0;
  }

  /** It may have changed: it is inspected in the next round. */
  markDirty(id: string): void {
    this.dirty.add(id);
  }

  /** Events may have been missed, so everything is uncertain. */
  markAllDirty(): void {
    for (const id of this.entries.keys()) this.dirty.add(id);
  }

  /** The session is over: what the engine has not answered is inspected in the next one. */
  abandon(): void {
    for (const id of this.inspections.abandon()) this.dirty.add(id);
  }

  /** Its process exited, which takes effect at once. @returns whether it was known to be running. */
  markExited(id: string): boolean {
    this.inspections.outdate(id);
    this.dirty.add(id);
    const entry = this.entries.get(id);
    if (!entry || entry.container.status === 'exited') return false;
    this.entries.set(id, { container: { ...entry.container, status: 'exited' }, text: '', listed: '' });
    return true;
  }

  /**
   * It has left a network, given by its id or name, so its address there may be given to another container. @returns whether it was known
   * to have one.
   */
  markDisconnected(id: string, network: string): boolean {
    this.inspections.outdate(id);
    this.dirty.add(id);
    const entry = this.entries.get(id);
    if (!entry) return false;
    const networks = entry.container.networks.filter(({ id: known, name }) => known !== network && name !== network);
    if (networks.length === entry.container.networks.length) return false;
    this.entries.set(id, { container: { ...entry.container, networks }, text: '', listed: '' });
    return !STOPPED.has(entry.container.status);
  }

  /** It no longer exists. @returns whether it was known. */
  remove(id: string): boolean {
    this.inspections.outdate(id);
    this.dirty.delete(id);
    return this.forget(id);
  }

  /** Whether there was no event of a labelled container while the last list was on its way. */
  get hasWholeList(): boolean {
    return this.isListComplete;
  }

  /**
   * Applies the engine's list: missing containers are dropped; new and changed ones are as it says until they have been inspected in the
   * next round. With `isUncertain`, no address of before is used if the list can't confirm it. @returns the dropped ones.
   */
  applyList(listed: readonly ContainerSummary[], isUncertain = false): string[] {
    this.lastList = listed;
    this.isListComplete = true;
    const labelled = new Set<string>();
    for (const one of listed) {
      if (!hasOwnLabel(one.labels)) continue;
      labelled.add(one.id);
      const text = JSON.stringify(one.container);
      const before = this.entries.get(one.id);
      // An inspection may be newer than the list that it is recorded with, and say what this one no longer does.
      const isNew = before?.listed !== text || !hasSameAddresses(one.container, before.container);
      if (isNew || this.unreadable.has(one.id)) this.dirty.add(one.id);
      if (this.newer.has(one.id)) {
        this.isListComplete = false;
        if (before && isUncertain) this.entries.set(one.id, { container: withoutAddress(before.container), text: '', listed: '' });
        // One that is being started may be inspected late. Without an address, what was true a moment ago does no harm.
        else if (!before && STOPPED.has(one.container.status)) this.use(one, text);
      } else if (isNew) this.use(one, text);
    }
    for (const id of this.unreadable.keys()) if (!labelled.has(id)) this.unreadable.delete(id);
    return [...this.entries.keys()].filter((id) => !labelled.has(id) && this.remove(id));
  }

  /**
   * Inspects the containers found by events or the list. Those that the engine can't inspect stay as they are known: a damaged container
   * must not stop the discovery of others. Nor does one for which the engine takes long.
   * @returns whether anything changed.
   * @throws EngineFailure if the engine fails as a whole.
   */
  async inspectDirty(session: Inspector, settled: Settled): Promise<boolean> {
    const waiting = this.toInspect();
    for (const id of waiting) this.dirty.delete(id);
    const listed = new Map(this.lastList.map((one) => [one.id, one]));
    let changed = false;
    const one = async () => {
      for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
        if (this.inspections.isFull) this.dirty.add(id);
        else if (await this.inspectOne(session, id, listed.get(id), settled)) changed = true;
      }
    };
    try {
      await Promise.all(Array.from({ length: Math.min(INSPECTIONS_AT_ONCE, waiting.length) }, one));
    } catch (error) {
      // The remaining ones are inspected after the next list, since everything is uncertain until then.
      waiting.length = 0;
      throw error;
    }
    return changed;
  }

  private use(listed: ContainerSummary, text: string): void {
    const before = this.entries.get(listed.id)?.container;
    this.entries.set(listed.id, { container: before ? asListed(before, listed.container) : listed.container, text: '', listed: text });
  }

  /** Those of the dirty ones that are not being inspected: what the engine says of one may be older than its last event. */
  private toInspect(): string[] {
    return this.inspections.isFull ? [] : [...this.dirty].filter((id) => !this.inspections.has(id));
  }

  /** @returns whether anything changed as far as is known by now. @throws EngineFailure if the engine fails as a whole. */
  private async inspectOne(session: Inspector, id: string, listed: ContainerSummary | undefined, settled: Settled): Promise<boolean> {
    const failed = (reason: string, cause: UnreadableContainer['cause']) =>
      !running.isOutdated && this.doWithout(id, { name: listed?.name ?? this.get(id)?.name ?? id.slice(0, 12), reason, cause });
    const running: Running = this.inspections.start(
      id,
      session.inspect(id, (failure) => settled(failed(failure.message, 'awaited'))),
    );
    const end = async () => {
      try {
        const found = await running.result;
        return !running.isOutdated && this.note(id, found, listed);
      } catch (error) {
        if (!running.isLeft && !(error instanceof EngineFailure && error.isOfRequest)) throw error;
        const isForbidden = error instanceof EngineFailure && error.isForbidden;
        return failed(error instanceof Error ? error.message : String(error), isForbidden ? 'forbidden' : 'failed');
      }
    };
    if (await this.inspections.endsSoon(running)) return end();
    void end().then(settled);
    return false;
  }

  /** A container can't be inspected. It is tried again after the next list. @returns whether that is new. */
  private doWithout(id: string, known: Omit<UnreadableContainer, 'id'>): boolean {
    if (this.unreadable.has(id)) return false;
    this.unreadable.set(id, { id, ...known });
    return true;
  }

  private note(id: string, found: Inspection | undefined, listed: ContainerSummary | undefined): boolean {
    const wasUnreadable = this.unreadable.delete(id);
    if (found === undefined) return this.forget(id);
    const container = readContainer(found);
    if (!hasOwnLabel(container.labels)) return this.forget(id);
    const text = JSON.stringify(container);
    const before = this.entries.get(id);
    // Reuses the object of an unchanged container, by which results are cached.
    const used = before?.text === text ? before.container : container;
    this.entries.set(id, { container: used, text, listed: listed ? JSON.stringify(listed.container) : '' });
    return wasUnreadable || before?.text !== text;
  }

  /** @returns whether it was known. */
  private forget(id: string): boolean {
    this.unreadable.delete(id);
    return this.entries.delete(id);
  }
}

/** What an inspection has said before, except for what the list says by now. Its last address may be another container's. */
function asListed(before: Container, { status, health, networks, publishedPorts }: Container): Container {
  const known = { ...before, status, health: health === 'none' ? before.health : health };
  return STOPPED.has(status) ? known : { ...known, networks, publishedPorts };
}

/** Whether the list has no other addresses for it than those that are known. Podman lists only the first port of a published range. */
function hasSameAddresses(listed: Container, known: Container): boolean {
  if (STOPPED.has(listed.status)) return true;
  const published = new Set(known.publishedPorts.map(asText));
  return addressesOf(listed) === addressesOf(known) && listed.publishedPorts.every((one) => published.has(asText(one)));
}

const addressesOf = ({ networks }: Container): string =>
  networks
    .map(({ ipv4, ipv6 }) => `${ipv4} ${ipv6}`)
    .sort()
    .join();

/** Without the address: engines write that for all of them in different ways. */
const asText = ({ containerPort, hostPort }: PublishedPort): string => `${hostPort}:${containerPort}`;

const withoutAddress = (container: Container): Container => ({ ...container, networks: [], publishedPorts: [] });

export function hasOwnLabel(labels: Readonly<Record<string, string>>): boolean {
  for (const name in labels) if (name.startsWith(LABEL_PREFIX)) return true;
  return false;
}
