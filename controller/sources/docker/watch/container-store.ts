import { LABEL_PREFIX } from '../../../../shared/name.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { type Container, type ContainerNetwork, type Inspection, readContainer } from '../engine/container.ts';
import type { ContainerSummary } from '../engine/container-summary.ts';
import { EngineFailure } from '../engine/engine-failure.ts';
import { originOf } from '../routes/site-reading.ts';
import { type InProgress, Inspections } from './inspections.ts';

/** How many containers are inspected at a time: an engine that is starting containers has other work too. */
const INSPECTIONS_AT_ONCE = 8;

/** The part of a session with the engine that is needed here. */
type Inspector = { inspect(id: string, late?: (failure: EngineFailure) => void): Promise<Inspection | undefined> };

/** undefined: the container no longer exists. */
type Running = InProgress<Inspection | undefined>;

export type Round = {
  /** Whether everything known is uncertain, so that containers that may be running are waited for. */
  readonly isPatient: boolean;
  /** Called after the round for each container that was not waited for, with whether anything changed. */
  readonly settled: (changed: boolean) => void;
};

type Entry = {
  container: Container;
  /** As JSON, to detect whether an inspection found a change. */
  text: string;
  /** Its entry in the list when it was inspected, as JSON; empty if it was not in it. */
  listed: string;
  /** The networks that it has left since it was inspected: a list may be older than that. */
  left?: ReadonlySet<string>;
};

/** A container that the engine lists and can't inspect. `isAwaited`: its response is used whenever it comes. */
export type UnreadableContainer = { readonly id: string; readonly name: string; readonly reason: string; readonly isAwaited: boolean };

/** The states in which a container has no address. */
const STOPPED: ReadonlySet<string> = new Set(['created', 'exited', 'dead', 'removing']);

/**
 * The labelled containers as last inspected. An inspection is used until an event concerns its container or the entry in the engine's
 * list changes.
 */
export class ContainerStore {
  private readonly entries = new Map<string, Entry>();
  private readonly dirty = new Set<string>();
  private readonly inspections: Inspections<Inspection | undefined>;
  private lastList: readonly ContainerSummary[] = [];
  private readonly unreadable = new Map<string, UnreadableContainer>();
  /** Whether all labelled containers have been read once, as far as they can be. */
  private isComplete = false;

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
    return this.entries.has(id) || this.inspections.has(id);
  }

  get size(): number {
    return this.entries.size;
  }

  /** Whether there is something to inspect now. */
  hasDirty(): boolean {
    return this.toInspect().length > 0;
  }

  /** An event concerned it: it is inspected in the next round. */
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
    entry.container = { ...entry.container, status: 'exited' };
    entry.text = '';
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
    entry.left = new Set(entry.left).add(network);
    const networks = entry.container.networks.filter(({ id: known, name }) => known !== network && name !== network);
    if (networks.length === entry.container.networks.length) return false;
    entry.container = { ...entry.container, networks };
    entry.text = '';
    return true;
  }

  /** It no longer exists. @returns whether it was known. */
  remove(id: string): boolean {
    this.inspections.outdate(id);
    this.dirty.delete(id);
    return this.forget(id);
  }

  /**
   * Applies the engine's list: missing containers are dropped; new and changed ones are inspected in the next round. @returns the dropped
   * ones.
   */
  replace(listed: readonly ContainerSummary[]): string[] {
    this.lastList = listed;
    const labelled = new Map(listed.filter(({ labels }) => hasOwnLabel(labels)).map((one) => [one.id, JSON.stringify(one)]));
    for (const [id, text] of labelled) if (this.entries.get(id)?.listed !== text || this.unreadable.has(id)) this.dirty.add(id);
    for (const id of this.unreadable.keys()) if (!labelled.has(id)) this.unreadable.delete(id);
    return [...this.entries.keys()].filter((id) => !labelled.has(id) && this.remove(id));
  }

  /**
   * Inspects the containers found by events or the list. If the engine can't inspect some of several, or the same ones again, they stay as
   * they were: a damaged container must not stop the discovery of others. Nor does one for which the engine takes long.
   * @returns whether anything changed.
   * @throws EngineFailure if the engine fails as a whole, or if it is unknown what a container that may be running was before. Its message
   * is the same each time.
   */
  async inspectDirty(session: Inspector, { isPatient, settled }: Round): Promise<boolean> {
    const waiting = this.toInspect();
    for (const id of waiting) this.dirty.delete(id);
    const texts = new Map(this.lastList.map((one) => [one.id, one]));
    let changed = false;
    let inspected = 0;
    const failed = new Map<string, EngineFailure>();
    const one = async () => {
      for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
        try {
          const listed = texts.get(id);
          const waits = this.isNeeded(id, listed) || (isPatient && !isStopped(listed) && !this.unreadable.has(id));
          const noted = await this.inspectOne(session, id, listed, waits ? null : settled);
          if (noted === undefined) continue;
          changed ||= noted;
          inspected++;
        } catch (error) {
          if (!(error instanceof EngineFailure && error.isOfRequest)) throw error;
          failed.set(id, error);
        }
      }
    };
    try {
      await Promise.all(Array.from({ length: Math.min(INSPECTIONS_AT_ONCE, waiting.length) }, one));
      const failures = [...failed].sort(([a], [b]) => (a < b ? -1 : 1));
      // A list may name nothing else to inspect than what is known to be damaged.
      const needed = failures.filter(([id]) => (inspected === 0 ? !this.unreadable.has(id) : this.isNeeded(id, texts.get(id))));
      if (needed.length > 0) throw missing(needed, texts);
      for (const [id, failure] of failures) {
        if (this.doWithout(id, texts.get(id), failure)) changed = true;
      }
    } catch (error) {
      // The remaining ones are inspected after the next list, since everything is uncertain until then.
      waiting.length = 0;
      throw error;
    }
    this.isComplete = true;
    return changed;
  }

  /** Whether no list is complete without it: routes of an earlier run may be its own, which a list without it could remove. */
  private isNeeded(id: string, listed: ContainerSummary | undefined): boolean {
    return !this.isComplete && !this.entries.has(id) && !isStopped(listed);
  }

  /** A container can't be inspected. It is tried again after the next list. @returns whether anything changed. */
  private doWithout(id: string, listed: ContainerSummary | undefined, { message: reason }: EngineFailure, isAwaited = false): boolean {
    const isChanged = this.use(listed);
    if (this.unreadable.has(id)) return isChanged;
    this.unreadable.set(id, { id, name: listed?.name ?? this.get(id)?.name ?? id.slice(0, 12), reason, isAwaited });
    return true;
  }

  /**
   * Applies what the list says of a container, as far as that is enough: the ports of a running one are not in it. @returns whether that
   * is newer than its last inspection.
   */
  private use(listed: ContainerSummary | undefined): boolean {
    const entry = listed && this.entries.get(listed.id);
    const text = JSON.stringify(listed);
    if (listed === undefined || entry?.listed === text || (entry === undefined && !isStopped(listed))) return false;
    const { id, name, labels, state } = listed;
    const now = readContainer({ Id: id, Name: name, Config: { Labels: labels }, State: { Status: state } });
    const before = entry?.container ?? now;
    const left = entry?.left ?? new Set();
    // Another container may have its last address now.
    const container = isStopped(listed)
      ? { ...before, status: now.status }
      : { ...before, networks: addressesIn(listed)?.filter((one) => !left.has(one.id)) ?? before.networks };
    this.entries.set(id, { container, text: '', listed: text, left });
    return true;
  }

  /** Those of the dirty ones that are not being inspected: what the engine says of one may be older than its last event. */
  private toInspect(): string[] {
    return [...this.dirty].filter((id) => !this.inspections.has(id));
  }

  /** `settled` is null if it is waited for. @returns whether anything changed; undefined if it takes too long to be waited for. */
  private async inspectOne(
    session: Inspector,
    id: string,
    listed: ContainerSummary | undefined,
    settled: Round['settled'] | null,
  ): Promise<boolean | undefined> {
    const failed = (failure: EngineFailure, isAwaited = false) => !running.isOutdated && this.doWithout(id, listed, failure, isAwaited);
    const late = settled === null ? undefined : (failure: EngineFailure) => settled(failed(failure, true));
    const running: Running = this.inspections.start(id, session.inspect(id, late));
    const end = async () => {
      const found = await running.result;
      return !running.isOutdated && this.note(id, found, listed);
    };
    if (settled === null || (await this.inspections.endsSoon(running))) return end();
    if (this.use(listed)) settled(true);
    void end()
      .catch((error: unknown) => failed(error instanceof EngineFailure ? error : new EngineFailure(String(error))))
      .then(settled);
    return undefined;
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
    this.entries.set(id, { container: used, text, listed: listed ? JSON.stringify(listed) : '' });
    return wasUnreadable || before?.text !== text;
  }

  /** @returns whether it was known. */
  private forget(id: string): boolean {
    this.unreadable.delete(id);
    return this.entries.delete(id);
  }
}

/** What there is to do about a container that can't be inspected. */
export const repairOf = (name: string): string => `recreate it, if need be after docker rm -f ${name}, or restart the engine`;

/** Nothing can be said about these containers, nor therefore about all. */
function missing(failures: readonly (readonly [string, EngineFailure])[], texts: ReadonlyMap<string, ContainerSummary>): EngineFailure {
  const [[id, failure] = ['', new EngineFailure('')]] = failures;
  const name = texts.get(id)?.name ?? id.slice(0, 12);
  const more = failures.length > 1 ? ` and ${failures.length - 1} more` : '';
  return new EngineFailure(
    `${originOf({ id, name })}${more}: ${failure.message}; no container is used anew until it can be inspected: ${repairOf(name)}`,
  );
}

const isStopped = (listed: ContainerSummary | undefined): boolean => listed !== undefined && STOPPED.has(listed.state);

/** undefined: the engine lists none. */
function addressesIn({ networks }: ContainerSummary): ContainerNetwork[] | undefined {
  const used = networks.filter(({ addresses }) => addresses.length > 0).sort((a, b) => (a.name < b.name ? -1 : 1));
  if (used.length === 0) return undefined;
  return used.map(({ id, name, addresses }) => {
    const find = (isIPv6: boolean): string | null => addresses.find((one) => one.includes(':') === isIPv6) ?? null;
    return { name, id, ipv4: find(false), ipv6: find(true) };
  });
}

export function hasOwnLabel(labels: Readonly<Record<string, string>>): boolean {
  for (const name in labels) if (name.startsWith(LABEL_PREFIX)) return true;
  return false;
}
