import type { Clock } from '../../shared/runtime/clock.ts';
import type { Log } from '../../shared/runtime/log.ts';
import type { Problem } from '../../shared/wire/apply.ts';
import { type Desired, desire, type SourceView } from '../desired/desire.ts';
import type { Snapshot, Source, UndatedProblem } from '../sources/source.ts';
import { createHoldOff } from './hold-off.ts';
import { createProblemBook } from './problem-book.ts';
import { type Guarded, guardListing, SECOND_LISTING_MS } from './removal-guard.ts';

/** The newest routing table, with its problems dated. */
export type Truth = { readonly desired: Desired; readonly problems: readonly Problem[] };

export type Reconciler = {
  /** A source speaks. Only the newest snapshot of each counts. */
  accept(snapshot: Snapshot): void;
  /**
   * Begins with a truth about no source at all: data planes are told nothing by it, and answer who they are.
   * For sources that can't list before they know that.
   */
  greet(): void;
  /** As `accept`, but a person asked for it: it applies at once, and confirms removals that an earlier one asked for. */
  acceptConfirmed(snapshot: Snapshot): void;
  /** undefined until a source has spoken. */
  truth(): Truth | undefined;
  /** Resolves when no removal of the source waits any more. */
  settled(source: string): Promise<void>;
  stop(): void;
};

type State = { guarded: Guarded | null; errors: readonly string[]; cancelRelist: () => void };

/**
 * Level-triggered: whatever happened, the table is built anew from the newest snapshots.
 * `changed` hears of each new truth.
 */
export function createReconciler(options: {
  sources: readonly Pick<Source, 'name' | 'relist'>[];
  clock: Clock;
  log: Log;
  changed: (truth: Truth) => void;
}): Reconciler {
  const { clock, log, sources } = options;
  const states = new Map<string, State>();
  const dated = createProblemBook(clock);
  const waiting: { source: string; resolve: () => void }[] = [];
  let truth: Truth | undefined;

  const rebuild = () => {
    const views = new Map([...states].map(([name, state]) => [name, viewOf(state)]));
    const desired = desire(views);
    if (desired.fingerprint !== truth?.desired.fingerprint) {
      truth = { desired, problems: dated(desired.problems) };
      options.changed(truth);
    }
    for (const waiter of waiting.splice(0)) {
      if (isHeld(states.get(waiter.source))) waiting.push(waiter);
      else waiter.resolve();
    }
  };
  const holdOff = createHoldOff(clock, rebuild);

  const accept = (snapshot: Snapshot, confirmed: boolean) => {
    const first = !states.has(snapshot.source);
    const state = states.get(snapshot.source) ?? { guarded: null, errors: [], cancelRelist: () => undefined };
    states.set(snapshot.source, state);
    state.cancelRelist();
    if (snapshot.kind === 'failed') state.errors = snapshot.errors;
    else {
      state.guarded = guardListing(state.guarded, snapshot, clock.monotonic(), confirmed);
      state.errors = [];
    }
    if (isHeld(state)) {
      log.warn(
        { source: snapshot.source, routes: state.guarded?.held.size },
        'a listing drops most routes; their removal waits for a second one',
      );
      state.cancelRelist = clock.after(SECOND_LISTING_MS, () => sources.find(({ name }) => name === snapshot.source)?.relist());
    }
    const complete = first && sources.every(({ name }) => states.has(name));
    const urgent = snapshot.kind === 'listed' && snapshot.urgent === true;
    if (confirmed || complete || urgent) holdOff.flush();
    else holdOff.poke();
  };

  return {
    accept: (snapshot) => accept(snapshot, false),
    greet: rebuild,
    acceptConfirmed: (snapshot) => accept(snapshot, true),
    truth: () => truth,
    settled: (source) => new Promise((resolve) => (isHeld(states.get(source)) ? waiting.push({ source, resolve }) : resolve())),
    stop: () => {
      holdOff.stop();
      for (const state of states.values()) state.cancelRelist();
      for (const waiter of waiting.splice(0)) waiter.resolve();
    },
  };
}

const isHeld = (state: State | undefined): boolean => (state?.guarded?.held.size ?? 0) > 0;

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
    message: `${count} routes are gone from the newest listing; they are removed when a second one, 5 s later or by a reload, agrees`,
  };
}
