/**
 * What is exact across workers: flat SharedArrayBuffers, lock-free, keyed by stable hashes, so that
 * they survive every swap of the table.
 */
export type LedgerBuffers = {
  readonly heartbeats: SharedArrayBuffer;
  readonly inFlight: SharedArrayBuffer;
  readonly rates: SharedArrayBuffer;
  readonly targets: SharedArrayBuffer;
};
