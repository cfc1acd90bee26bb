import type { Clock } from '../../shared/runtime/clock.ts';
import type { Applied, Problem, Revision, TargetReport } from '../../shared/wire/apply.ts';
import type { DesiredState } from '../reconcile/reconciler.ts';
import type { Reading } from '../sources/source.ts';
import { type ClusterObjectStatus, type ContainerStatus, clusterObjectsOf, containersOf } from './containers.ts';
import { RouteConditions, type RouteStatus } from './route-conditions.ts';

export type PushOutcome = 'applied' | 'refused' | 'failed';

export type DataplaneView = {
  address: string;
  connected: boolean;
  instance: string | null;
  /** The last acknowledged revision. */
  revision: Revision | null;
  /** RFC 3339: when it was acknowledged. */
  last_applied: string | null;
  last_error: string | null;
  outcomes: Record<PushOutcome, number>;
};

/** The response of the controller's `GET /status`. */
export type ControllerReport = {
  controller: string;
  epoch: number;
  version: string;
  ready: boolean;
  reason: string | null;
  routes: number;
  sources: { name: string; listed: boolean }[];
  dataplanes: DataplaneView[];
  problems: readonly Problem[];
  last_reload: { at: string; ok: boolean; errors: readonly string[] } | null;
  objects: RouteStatus[];
  containers: ContainerStatus[];
  cluster_objects: ClusterObjectStatus[];
};

/** Keeps the content of the controller's own pages. Other parts report to it; it queries none. */
export class Report {
  readonly objects: RouteConditions;
  private readonly readings: () => readonly Reading[];
  private readonly clock: Clock;
  private readonly about: { controller: string; epoch: number; version: string; sources: readonly string[] };
  private readonly views = new Map<string, DataplaneView>();
  /** Addresses of data planes that are used at another address. */
  private readonly duplicates = new Set<string>();
  private state: DesiredState | undefined;
  private lastReload: ControllerReport['last_reload'] = null;
  private lastGoodReload: number | null = null;

  constructor(
    clock: Clock,
    about: { controller: string; epoch: number; version: string; sources: readonly string[] },
    addresses: readonly string[],
    readings: () => readonly Reading[] = () => [],
  ) {
    this.clock = clock;
    this.about = about;
    this.objects = new RouteConditions(clock);
    this.readings = readings;
    for (const address of addresses) {
      const outcomes = { applied: 0, refused: 0, failed: 0 };
      this.views.set(address, {
        address,
        connected: false,
        instance: null,
        revision: null,
        last_applied: null,
        last_error: null,
        outcomes,
      });
    }
  }

  built(state: DesiredState): void {
    this.state = state;
    this.objects.built(state);
  }

  applied(address: string, applied: Applied, state: DesiredState): void {
    const view = this.views.get(address);
    if (!view) return;
    view.connected = true;
    this.duplicates.delete(address);
    view.instance = applied.instance;
    view.revision = applied.revision;
    // A greeting, before any source has listed, contains no routes yet.
    if (state.desired.listed.length > 0) view.last_applied = this.time();
    view.last_error = null;
    view.outcomes.applied += 1;
    this.objects.applied(address, applied, state);
  }

  /** A data plane reports a target as up or down. */
  upstream({ address, healthy, reason }: TargetReport): void {
    this.objects.upstream(address, healthy, reason);
  }

  /** Whether this process has never had an acknowledgement from it. */
  isNew(address: string): boolean {
    return this.views.get(address)?.last_applied === null;
  }

  /** @returns whether this is new: a repeated failure is not. */
  failed(address: string, outcome: 'refused' | 'failed', error: string): boolean {
    const view = this.views.get(address);
    if (!view) return false;
    const news = view.last_error !== error;
    view.connected = outcome === 'refused';
    view.last_error = error;
    view.outcomes[outcome] += 1;
    return news;
  }

  /** An address leads to the data plane of another one, which is used. @returns whether this is new. */
  duplicate(address: string, error: string): boolean {
    this.duplicates.add(address);
    return this.failed(address, 'failed', error);
  }

  reloaded(errors: readonly string[]): void {
    this.lastReload = { at: this.time(), ok: errors.length === 0, errors };
    if (errors.length === 0) this.lastGoodReload = this.clock.now();
  }

  /** Ready: a source has listed, and every data plane has acknowledged a frame of this process, at one of its addresses. */
  readiness(): { ready: boolean; reason: string | null } {
    if (!this.state || this.state.desired.listed.length === 0) return { ready: false, reason: 'no source has been read yet' };
    const silent = [...this.views.values()].find((view) => view.last_applied === null && !this.duplicates.has(view.address));
    if (!silent) return { ready: true, reason: null };
    return {
      ready: false,
      reason: `${silent.address} has not acknowledged a frame yet${silent.last_error ? `: ${silent.last_error}` : ''}`,
    };
  }

  dataplanes(): readonly DataplaneView[] {
    return [...this.views.values()];
  }

  problems(): readonly Problem[] {
    return this.state?.problems ?? [];
  }

  counts(): { routes: number; lastReloadOk: boolean | null; lastGoodReload: number | null } {
    return {
      routes: this.state?.desired.routes.size ?? 0,
      lastReloadOk: this.lastReload?.ok ?? null,
      lastGoodReload: this.lastGoodReload,
    };
  }

  full(): ControllerReport {
    const { sources, ...about } = this.about;
    const objects = this.objects.list();
    const readings = this.readings();
    return {
      ...about,
      ...this.readiness(),
      routes: this.counts().routes,
      sources: sources.map((name) => ({ name, listed: this.state?.desired.listed.includes(name) ?? false })),
      dataplanes: [...this.views.values()],
      problems: this.problems(),
      last_reload: this.lastReload,
      objects,
      containers: containersOf(readings, objects),
      cluster_objects: clusterObjectsOf(readings, objects),
    };
  }

  private time(): string {
    return new Date(this.clock.now()).toISOString();
  }
}
