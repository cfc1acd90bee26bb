/** Pseudo-random numbers that a seed reproduces. 32 bits of state, mixed well enough to choose bytes. */
export class SampleRandom {
  private state: number;

  constructor(seed: number) {
    this.state = seed | 0;
  }

  /** An integer from 0 up to but not including `limit`. */
  below(limit: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  /** True once in `times` on average. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  /** One of a list that is not empty. */
  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }

  /** `count` arbitrary bytes, as Latin-1. */
  bytes(count: number): string {
    let bytes = '';
    for (let at = 0; at < count; at++) bytes += String.fromCharCode(this.below(256));
    return bytes;
  }
}
