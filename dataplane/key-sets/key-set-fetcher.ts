import { wasJustFetched } from '../../shared/policy/jwt/just-fetched.ts';
import type { KeySource } from '../../shared/policy/jwt/key-source.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Log } from '../../shared/runtime/log/log.ts';
import type { PublishedKeySet } from '../traffic/protocol.ts';
import type { FetchedKeys } from './fetch-keys.ts';
import { readSaved, type SavedKeys, writeSaved } from './saved-keys.ts';
import { wantedSources } from './wanted-sources.ts';

/** For how long keys are fresh (ms): by Cache-Control within these bounds. */
const FRESH = { least: 60_000, usual: 600_000, most: 86_400_000 } as const;
/** For how long keys that can't be fetched again are still used after that (ms). */
const STALE_MS = 86_400_000;
/** The pause after a failure (ms), doubled from one to the next. */
const PAUSE = { first: 1_000, most: 60_000 } as const;
/** How often sets are checked for being due (ms). */
const TURN_MS = 1_000;
const MAX_CONCURRENT = 4;
/** Maximum number of sets. Any beyond that have no keys. */
const MAX_SETS = 100;

/** A published route: the JSON of its RouteSpec. `fetchesKeys`: whether any of its policies names a source of keys. */
type PublishedRoutes = {
  readonly whole: boolean;
  readonly upserts: readonly { readonly domain: string; readonly json: string; readonly fetchesKeys: boolean }[];
  readonly removed: readonly string[];
};

type KeySetFetcherOptions = {
  readonly clock: Clock;
  readonly log: Log;
  /** Where keys are kept for restarts. */
  readonly path: string;
  readonly fetch: (source: KeySource, signal: AbortSignal) => Promise<FetchedKeys>;
  readonly publish: (sets: readonly PublishedKeySet[]) => void;
};

type State = {
  readonly name: string;
  readonly source: KeySource;
  saved: SavedKeys | null;
  failure: string | null;
  /** When it was last fetched, successfully or not (ms since 1970). */
  triedAt: number;
  /** Both on the monotonic clock. */
  dueAt: number;
  usableUntil: number;
  pauseMs: number;
  fetching: boolean;
  /** Whether workers wait to hear of the next fetch, also if it changes nothing. */
  awaited: boolean;
};

/** The keys of issuers of tokens: fetched from their URLs, refreshed, kept for restarts, and published to the workers. */
export class KeySetFetcher {
  private readonly options: KeySetFetcherOptions;
  private readonly states = new Map<string, State>();
  private readonly byDomain = new Map<string, ReadonlyMap<string, KeySource>>();
  private readonly end = new AbortController();
  private saved: Map<string, SavedKeys> | null = null;
  private stopTurns: (() => void) | null = null;
  private publishing = false;
  private saving: Promise<void> = Promise.resolve();

  constructor(options: KeySetFetcherOptions) {
    this.options = options;
  }

  /** Applies published changes of routes. */
  update({ whole, upserts, removed }: PublishedRoutes): void {
    const gone = new Set(whole ? this.byDomain.keys() : removed);
    let changed = false;
    for (const { domain, json, fetchesKeys } of upserts) {
      if (!fetchesKeys) {
        if (this.byDomain.has(domain)) gone.add(domain);
        continue;
      }
      gone.delete(domain);
      this.byDomain.set(domain, wantedSources(json));
      changed = true;
    }
    for (const domain of gone) changed = this.byDomain.delete(domain) || changed;
    if (changed) this.wantedChanged();
  }

  /** A worker has a token whose key is not in the set. */
  wanted(name: string): void {
    const state = this.states.get(name);
    if (state === undefined) return;
    if (state.fetching) state.awaited = true;
    else if (wasJustFetched(state.triedAt, this.options.clock.now())) this.publish();
    else {
      state.awaited = true;
      state.dueAt = Number.NEGATIVE_INFINITY;
      this.turn();
    }
  }

  /** Problems of sets whose old keys are still used, or of those that have none; one sentence for each. */
  failures(which: 'stale' | 'missing'): readonly string[] {
    return [...this.states.values()].flatMap((state) => {
      const { source, failure, saved } = state;
      if (failure === null || this.isUsable(state) !== (which === 'stale')) return [];
      const meanwhile = saved ? `those of ${timeOf(saved.fetchedAt)} are used` : 'requests to its sites are answered with 503';
      return [`the keys of tokens cannot be fetched from ${source.url} (${failure}); ${meanwhile}`];
    });
  }

  stop(): void {
    this.stopTurns?.();
    this.end.abort();
  }

  private wantedChanged(): void {
    const wanted = new Map([...this.byDomain.values()].flatMap((sources) => [...sources]));
    for (const name of this.states.keys()) if (!wanted.has(name)) this.states.delete(name);
    for (const [name, source] of wanted) if (!this.states.has(name)) this.states.set(name, this.begin(name, source));
    if (this.states.size > 0) this.stopTurns ??= this.options.clock.every(TURN_MS, () => this.turn());
    this.publish();
    this.turn();
  }

  private begin(name: string, source: KeySource): State {
    const { clock, log, path } = this.options;
    this.saved ??= readSaved(path, log);
    const saved = this.saved.get(name) ?? null;
    const age = clock.now() - (saved?.fetchedAt ?? 0);
    // A clock that was set back says nothing about their age.
    const isFresh = saved !== null && age >= 0 && age < saved.freshMs;
    const dueAt = isFresh ? clock.monotonic() + saved.freshMs - age : Number.NEGATIVE_INFINITY;
    const usableUntil = clock.monotonic() + (saved?.freshMs ?? 0) + STALE_MS - Math.max(0, age);
    const times = { triedAt: 0, dueAt, usableUntil, pauseMs: PAUSE.first };
    const state = { name, source, saved, failure: null, ...times, fetching: false, awaited: false };
    if (this.states.size < MAX_SETS) return state;
    return { ...state, saved: null, dueAt: Number.POSITIVE_INFINITY, failure: `at most ${MAX_SETS} sets of keys are fetched` };
  }

  private turn(): void {
    const now = this.options.clock.monotonic();
    let fetching = 0;
    for (const state of this.states.values()) if (state.fetching) fetching++;
    for (const state of this.states.values()) {
      if (state.fetching || state.dueAt > now || fetching >= MAX_CONCURRENT) continue;
      fetching++;
      void this.fetch(state);
    }
    // Keys that have become too old.
    for (const state of this.states.values())
      if (state.saved !== null && !this.isUsable(state)) {
        state.saved = null;
        this.publish();
      }
  }

  private async fetch(state: State): Promise<void> {
    const { clock, log, fetch } = this.options;
    state.fetching = true;
    const before = { failure: state.failure, keys: JSON.stringify(state.saved?.keys) };
    try {
      const { keys, maxAgeSecs } = await fetch(state.source, this.end.signal);
      const freshMs = maxAgeSecs === null ? FRESH.usual : Math.min(FRESH.most, Math.max(FRESH.least, maxAgeSecs * 1_000));
      state.saved = { keys, fetchedAt: clock.now(), freshMs };
      state.failure = null;
      state.pauseMs = PAUSE.first;
      state.dueAt = clock.monotonic() + freshMs;
      state.usableUntil = state.dueAt + STALE_MS;
      if (this.states.get(state.name) === state) this.save();
      if (before.failure !== null) log.info({ url: state.source.url }, 'the keys of tokens are fetched again');
    } catch (error) {
      if (this.end.signal.aborted) return;
      state.failure = reasonOf(error);
      state.dueAt = clock.monotonic() + state.pauseMs;
      state.pauseMs = Math.min(2 * state.pauseMs, PAUSE.most);
      if (before.failure !== state.failure)
        log.warn({ url: state.source.url, reason: state.failure }, 'the keys of tokens cannot be fetched');
    }
    state.fetching = false;
    state.triedAt = clock.now();
    const { awaited } = state;
    state.awaited = false;
    if (awaited || before.failure !== state.failure || before.keys !== JSON.stringify(state.saved?.keys)) this.publish();
    this.turn();
  }

  private isUsable({ saved, usableUntil }: State): boolean {
    return saved !== null && this.options.clock.monotonic() < usableUntil;
  }

  private save(): void {
    const { path, log } = this.options;
    const saved = new Map([...this.states.values()].flatMap(({ name, saved: keys }) => (keys ? [[name, keys] as const] : [])));
    this.saved = saved;
    this.saving = this.saving.then(() => writeSaved(path, saved, log));
  }

  /** Later in this turn, because a publication of routes in progress comes first. */
  private publish(): void {
    if (this.publishing) return;
    this.publishing = true;
    queueMicrotask(() => {
      this.publishing = false;
      this.options.publish(
        [...this.states.values()].map((state) => ({
          name: state.name,
          keys: this.isUsable(state) ? (state.saved?.keys ?? null) : null,
          triedAt: state.triedAt,
          failure: state.failure,
        })),
      );
    });
  }
}

const timeOf = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** The maximum length of a message from a server or the system (characters). */
const MAX_REASON = 200;

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return (message === '' || message === undefined ? (code ?? String(error)) : message).slice(0, MAX_REASON);
}
