import type { Condition } from '../../../../shared/condition.ts';
import { FirstCovering } from './first-covering.ts';

/** The path and the matcher that a block is for. */
export type Selection = { readonly path: string | null; readonly match: Condition | null };

/** What the blocks of a site so far are for, so that a new one need not be compared with each of thousands. */
export class Selections {
  private readonly patterns = new FirstCovering<true>();
  private readonly matchers = new Set<Condition>();

  add({ path, match }: Selection): void {
    if (match === null) this.patterns.add(path, true);
    else this.matchers.add(match);
  }

  /** Whether one of them may hide a block. */
  mayHide({ path, match }: Selection): boolean {
    if (match === null) return this.mayCover(path);
    return this.matchers.has(match) || this.mayCover(null) || match.path?.every((pattern) => this.mayCover(pattern)) === true;
  }

  private mayCover(path: string | null): boolean {
    return this.patterns.find(path) === true;
  }
}
