/** Distinct values that look like hashes, 0 to 2^53 - 1: SplitMix64 over a counter, so that a test sees the same in every run. */
export function* hashes(seed: number): Generator<number, never> {
  const mask = 2n ** 64n - 1n;
  for (let state = BigInt(seed) << 32n; ; ) {
    state = (state + 0x9e37_79b9_7f4a_7c15n) & mask;
    let mixed = ((state ^ (state >> 30n)) * 0xbf58_476d_1ce4_e5b9n) & mask;
    mixed = ((mixed ^ (mixed >> 27n)) * 0x94d0_49bb_1331_11ebn) & mask;
    yield Number((mixed ^ (mixed >> 31n)) >> 11n);
  }
}

/** The first `count` of them. */
export function someHashes(seed: number, count: number): number[] {
  const source = hashes(seed);
  return Array.from({ length: count }, () => source.next().value);
}
