/** The candidate closest to the input, if at most a third of its letters differ (at least one). */
export function closest(typed: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const near = Math.max(1, Math.floor(candidate.length / 3));
    // Words whose lengths differ by more cannot be close. Comparing them could take long, as the input has no length limit.
    if (Math.abs(typed.length - candidate.length) > near) continue;
    const distance = editDistance(typed, candidate);
    if (distance < least && distance <= near) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

/** Optimal string alignment distance: each insertion, deletion, substitution or swap of neighbors costs one. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1] ? 0 : 1;
      let cost = Math.min((previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, (previous[column - 1] ?? 0) + same);
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1])
        cost = Math.min(cost, (before[column - 2] ?? 0) + 1);
      current.push(cost);
    }
    before = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}

/** A file may define any number of names; a thousand mistakes must not each be compared with all of them. */
const MAX_CANDIDATES = 200;

/** ` (did you mean "x"?)` for the closest candidate, or an empty string. */
export function didYouMean(typed: string, candidates: readonly string[]): string {
  const near = typed.length > 64 ? undefined : closest(typed, candidates.slice(0, MAX_CANDIDATES));
  return near === undefined ? '' : ` (did you mean "${near}"?)`;
}
