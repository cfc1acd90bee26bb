/** The order of turns, spread evenly by weight: 2 and 1 become a, b, a; a, a, b only if it can't be avoided. */
export function interleave<T extends { readonly weight: number }>(targets: readonly T[]): T[] {
  const divisor = targets.reduce((sofar, { weight }) => greatestCommonDivisor(sofar, weight), 0) || 1;
  const shares = targets.map((target) => ({ target, weight: target.weight / divisor, credit: 0 }));
  const total = shares.reduce((sum, { weight }) => sum + weight, 0);
  const turns: T[] = [];
  for (let turn = 0; turn < total; turn++) {
    for (const share of shares) share.credit += share.weight;
    const best = shares.reduce((a, b) => (b.credit > a.credit ? b : a));
    best.credit -= total;
    turns.push(best.target);
  }
  return turns;
}

const greatestCommonDivisor = (a: number, b: number): number => (b === 0 ? a : greatestCommonDivisor(b, a % b));
