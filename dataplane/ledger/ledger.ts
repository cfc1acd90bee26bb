import { PERIOD_MS, type RatePeriod } from '../../shared/values/rate.ts';
import { Connections } from './connections.ts';
import { Heartbeats } from './heartbeats.ts';
import { InFlight } from './in-flight.ts';
import { LineRing } from './line-ring.ts';
import { Rates } from './rates.ts';
import { SharedSemaphore } from './shared-semaphore.ts';
import { Targets } from './targets.ts';
import { WrongGuesses } from './wrong-guesses.ts';

/**
 * State that is exact across workers: lock-free SharedArrayBuffers, keyed by stable hashes so that they
 * survive every swap of the table.
 */
export type LedgerBuffers = {
  readonly connections: SharedArrayBuffer;
  readonly heartbeats: SharedArrayBuffer;
  readonly inFlight: SharedArrayBuffer;
  readonly rates: Readonly<Record<RatePeriod, SharedArrayBuffer>>;
  readonly targets: SharedArrayBuffer;
  readonly passwordChecks: SharedArrayBuffer;
  readonly wrongGuesses: SharedArrayBuffer;
  /** Lines of the access log for the thread that writes them. */
  readonly accessLines: SharedArrayBuffer;
  /** Spans of sampled requests for the thread that sends them. */
  readonly spans: SharedArrayBuffer;
};

export type Ledger = {
  readonly buffers: LedgerBuffers;
  readonly connections: Connections;
  readonly heartbeats: Heartbeats;
  readonly inFlight: InFlight;
  readonly rates: Readonly<Record<RatePeriod, Rates>>;
  readonly targets: Targets;
  readonly passwordChecks: SharedSemaphore;
  readonly wrongGuesses: WrongGuesses;
};

/** Creates a ledger with a column for each of `workers` worker slots. */
export function createLedger(workers: number): Ledger {
  return openLedger({
    connections: Connections.buffer(workers),
    heartbeats: Heartbeats.buffer(workers),
    inFlight: InFlight.buffer(workers),
    // Memory that is never written to takes none.
    rates: { second: Rates.buffer(), minute: Rates.buffer(), hour: Rates.buffer() },
    targets: Targets.buffer(workers),
    passwordChecks: SharedSemaphore.buffer(workers),
    wrongGuesses: WrongGuesses.buffer(),
    accessLines: LineRing.buffer(workers),
    spans: LineRing.buffer(workers),
  });
}

/** The same ledger as another thread sees it. */
export function openLedger(buffers: LedgerBuffers): Ledger {
  return {
    buffers,
    connections: new Connections(buffers.connections, buffers.inFlight.byteLength / 4),
    heartbeats: new Heartbeats(buffers.heartbeats),
    inFlight: new InFlight(buffers.inFlight),
    rates: {
      second: new Rates(buffers.rates.second, PERIOD_MS.second),
      minute: new Rates(buffers.rates.minute, PERIOD_MS.minute),
      hour: new Rates(buffers.rates.hour, PERIOD_MS.hour),
    },
    targets: new Targets(buffers.targets, buffers.inFlight.byteLength / 4),
    passwordChecks: new SharedSemaphore(buffers.passwordChecks),
    wrongGuesses: new WrongGuesses(buffers.wrongGuesses),
  };
}
