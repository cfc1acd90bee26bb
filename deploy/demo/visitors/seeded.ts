/** Random numbers that are the same for the same seed. */
export type Seeded = {
  /** From 0 up to, not including, 1. */
  fraction(): number;
  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number;
  pick<T>(list: readonly T[]): T;
  /** One of the keys of `weights`, with a probability in proportion to its weight. */
  weighted<T extends string>(weights: Readonly<Record<T, number>>): T;
  /** Around `median`, never negative, with a few that are much larger, as durations are. */
  skewed(median: number, spread: number): number;
};

export function seeded(seed: number): Seeded {
  // A 32-bit linear congruential generator (the constants of Numerical Recipes); its upper bits are good enough for a demo.
  let state = seed >>> 0;
  const fraction = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return {
    fraction,
    between: (from, to) => from + Math.floor(fraction() * (to - from + 1)),
    pick: <T>(list: readonly T[]): T => list[Math.floor(fraction() * list.length)] as T,
    weighted: <T extends string>(weights: Readonly<Record<T, number>>): T => {
      const entries = Object.entries(weights) as [T, number][];
      let left = fraction() * entries.reduce((sum, [, weight]) => sum + weight, 0);
      for (const [key, weight] of entries) {
        left -= weight;
        if (left < 0) return key;
      }
      throw new Error('there is nothing to choose from');
    },
    // The sum of several uniform numbers is close to a normal distribution.
    skewed: (median, spread) => median * Math.exp(spread * (fraction() + fraction() + fraction() + fraction() - 2)),
  };
}
