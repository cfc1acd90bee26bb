import type { Clock } from '../../shared/runtime/clock.ts';
import { createDebounce } from '../../shared/runtime/debounce.ts';
import type { Log } from '../../shared/runtime/log/log.ts';
import type { Problem } from '../../shared/wire/apply.ts';
import { type Desired, desire, type Listing, type SourceView } from '../desired/desire.ts';
import type { Snapshot, Source, UndatedProblem } from '../sources/source.ts';
import { trackProblemDates } from './problem-dates.ts';
import { type Guarded, guardListing, SECOND_LISTING_MS } from './removal-guard.ts';

/** Sources report changes in bursts. */
const HOLD_OFF = { quietMs: 100, maxMs: 500 };

/** The latest routing table, with the start times of its problems. */
export type DesiredState = { readonly desired: Desired; readonly problems: readonly Problem[] };

/** The snapshots that a routing table was built from, by source. */
export type Snapshots = ReadonlyMap<string, Listing>;

export type Reconciler = {
  /** A source reports. Only the latest snapshot of each counts. */
  accept(snapshot: Snapshot): void;
  /**
   * Starts with a desired state without sources. It changes nothing at data planes, but makes them respond with their identity, for sources
   * that can't list without it.
   */
  startEmpty(): void;
  /** As `accept`, but requested by a person: it applies at once, and confirms pending removals. */
  acceptConfirmed(snapshot: Snapshot): void;
  /** undefined until a source has reported. */
  state(): DesiredState | undefined;
  /** Resolves when no removal of the source is pending. */
  settled(source: string): Promise<void>;
  stop(): void;
};

type State = { snapshot: Listing | null; guarded: Guarded | null; errors: readonly string[]; cancelRelist: () => void };

/**
 * Level-triggered: after every change the table is rebuilt from the latest snapshots. `built` is called each time with the snapshots and
 * the state that they give, which may be the same as before; `changed` with each new state, after it.
 */
export function createReconciler(options: {
  sources: readonly Pick<Source, 'name' | 'relist'>[];
  clock: Clock;
  log: Log;
  built?: (state: DesiredState, snapshots: Snapshots) => void;
  changed: (state: DesiredState) => void;
}): Reconciler {
  const { clock, log, sources } = options;
  const states = new Map<string, State>();
  const dated = trackProblemDates(clock);
  const waiting: { source: string; resolve: () => void }[] = [];
  let state: DesiredState | undefined;

  const rebuild = () => {
    const views = new Map([...states].map(([name, state]) => [name, viewOf(state)]));
    const desired = desire(views);
    const before = state;
    state = desired.fingerprint === before?.desired.fingerprint ? before : { desired, problems: dated(desired.problems) };
    options.built?.(state, snapshotsOf(states));
    if (state !== before) options.changed(state);
    for (const waiter of waiting.splice(0)) {
      if (isHeld(states.get(waiter.source))) waiting.push(waiter);
      else waiter.resolve();
    }
  };
  const holdOff = createDebounce(clock, HOLD_OFF, rebuild);

  const accept = (snapshot: Snapshot, confirmed: boolean) => {
    const first = !states.has(snapshot.source);
    const state = states.get(snapshot.source) ?? { snapshot: null, guarded: null, errors: [], cancelRelist: () => undefined };
    states.set(snapshot.source, state);
    state.cancelRelist();
    if (snapshot.kind === 'failed') state.errors = snapshot.errors;
    else {
      state.snapshot = snapshot;
      state.guarded = guardListing(state.guarded, snapshot, clock.monotonic(), confirmed);
      state.errors = [];
    }
    if (isHeld(state)) {
      log.warn(
        { source: snapshot.source, routes: state.guarded?.held.size },
        'a listing removes most routes; the removal waits for a second listing to confirm it',
      );
      state.cancelRelist = clock.after(SECOND_LISTING_MS, () => sources.find(({ name }) => name === snapshot.source)?.relist());
    }
    const complete = first && sources.every(({ name }) => states.has(name));
    const urgent = snapshot.kind === 'listed' && snapshot.urgent === true;
    if (confirmed || complete || urgent) holdOff.flush();
    else holdOff.trigger();
  };

  return {
    accept: (snapshot) => accept(snapshot, false),
    startEmpty: rebuild,
    acceptConfirmed: (snapshot) => accept(snapshot, true),
    state: () => state,
    settled: (source) => new Promise((resolve) => (isHeld(states.get(source)) ? waiting.push({ source, resolve }) : resolve())),
    stop: () => {
      holdOff.stop();
      for (const state of states.values()) state.cancelRelist();
      for (const waiter of waiting.splice(0)) waiter.resolve();
    },
  };
}

const isHeld = (state: State | undefined): boolean => (state?.guarded?.held.size ?? 0) > 0;

const snapshotsOf = (states: ReadonlyMap<string, State>): Snapshots =>
  new Map([...states].flatMap(([source, { snapshot }]) => (snapshot === null ? [] : [[source, snapshot]])));

function viewOf({ guarded, errors }: State): SourceView {
  if (!guarded || guarded.held.size === 0) return { listing: guarded?.listing ?? null, errors };
  const { listing, held } = guarded;
  return { listing: { ...listing, problems: [...listing.problems, heldProblem(listing.source, held.size)] }, errors };
}

function heldProblem(source: string, count: number): UndatedProblem {
  return {
    source,
    origin: source,
    domain: null,
    code: 'removal_held',
    message: `${count} routes are missing from the latest listing; they are removed once a second listing confirms it, after 5 s or on a reload`,
  };
}
