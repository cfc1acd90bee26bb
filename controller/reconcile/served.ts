import type { Applied } from '../../shared/wire/apply.ts';
import { DOMAIN_TAKEN, ROUTE_TOO_LARGE } from '../desired/desire.ts';
import type { ServedSnapshot, Source } from '../sources/source.ts';
import type { DesiredState, Snapshots } from './reconciler.ts';

/** What a data plane serves: a state, without the routes that it rejects (reasons by domain). */
type View = { order: number; state: DesiredState; readonly refused: Map<string, string> };

type BuiltState = { readonly order: number; snapshots: Snapshots };

/** Tells sources which of their snapshots the data planes serve. */
export class ServedSnapshots {
  private readonly sources: readonly Pick<Source, 'name' | 'served'>[];
  /** Later states replace earlier ones. A state may result from several snapshots, of which the latest counts. */
  private readonly states = new WeakMap<DesiredState, BuiltState>();
  private count = 0;
  /** Of the data planes whose stream is open and has acknowledged a frame. */
  private readonly views = new Map<string, View>();
  private readonly reported = new Map<string, ServedSnapshot>();

  constructor(sources: readonly Pick<Source, 'name' | 'served'>[]) {
    this.sources = sources.filter(({ served }) => served !== undefined);
  }

  /** The table was built from these snapshots. */
  built(state: DesiredState, snapshots: Snapshots): void {
    const known = this.states.get(state);
    if (known) known.snapshots = snapshots;
    else this.states.set(state, { order: ++this.count, snapshots });
    if (known) this.notify();
  }

  /** A data plane has acknowledged a frame, after which it serves `state`. */
  applied(
    dataplane: string,
    { applied, whole, state }: { readonly applied: Applied; readonly whole: boolean; readonly state: DesiredState },
  ): void {
    const refused = whole ? new Map<string, string>() : (this.views.get(dataplane)?.refused ?? new Map<string, string>());
    for (const { domain, result, reason } of applied.results)
      if (result === 'rejected' || result === 'conflicted') refused.set(domain, reason ?? result);
      else refused.delete(domain);
    for (const domain of applied.removed) refused.delete(domain);
    this.record(dataplane, state, refused);
  }

  /** A state needs no frame: the data plane serves it already. */
  unchanged(dataplane: string, state: DesiredState): void {
    const view = this.views.get(dataplane);
    if (view) this.record(dataplane, state, view.refused);
  }

  disconnected(dataplane: string): void {
    if (this.views.delete(dataplane)) this.notify();
  }

  private record(dataplane: string, state: DesiredState, refused: Map<string, string>): void {
    this.views.set(dataplane, { order: this.states.get(state)?.order ?? 0, state, refused });
    this.notify();
  }

  private notify(): void {
    const views = [...this.views.values()];
    const [first, ...others] = views;
    if (first === undefined || this.sources.length === 0) return;
    // A snapshot is only served everywhere once the slowest data plane serves it.
    const { state } = others.reduce((least, view) => (view.order < least.order ? view : least), first);
    const snapshots = this.states.get(state)?.snapshots;
    for (const source of this.sources) {
      const snapshot = snapshots?.get(source.name);
      if (snapshot === undefined) continue;
      const served = { snapshot, refused: refusedOf(source.name, state, views) };
      const before = this.reported.get(source.name);
      if (before?.snapshot === snapshot && isSame(before.refused, served.refused)) continue;
      this.reported.set(source.name, served);
      source.served?.(served);
    }
  }
}

function refusedOf(source: string, { desired }: DesiredState, views: readonly View[]): ReadonlyMap<string, string> {
  const refused = new Map<string, string>();
  for (const problem of desired.problems)
    if (problem.source === source && problem.domain !== null && (problem.code === DOMAIN_TAKEN || problem.code === ROUTE_TOO_LARGE))
      refused.set(problem.domain, problem.message);
  for (const view of views)
    for (const [domain, reason] of view.refused) if (desired.routes.get(domain)?.source === source) refused.set(domain, reason);
  return refused;
}

const isSame = (a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean =>
  a.size === b.size && [...a].every(([domain, reason]) => b.get(domain) === reason);
