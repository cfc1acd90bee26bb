import { isBelow } from './pattern.ts';

/** Finds the blocks whose path patterns match, in the order written. Blocks are numbered in that order. */
export class BlockIndex {
  /** The blocks for any path. Each list here is ascending. */
  private readonly any: number[] = [];
  private readonly exact = new Map<string, number[]>();
  /** By prefix: those that end with a slash, which a path can only have at its slashes, and others. */
  private readonly below = new Map<string, number[]>();
  private readonly beginning = new Map<string, number[]>();
  private longest = 0;
  /** The lengths of the other prefixes, ascending. */
  private lengths: number[] = [];

  /** Adds the next block. `patterns` are in the form in which they are compared; null matches any path. */
  add(nth: number, patterns: readonly string[] | null): void {
    if (patterns === null) return void this.any.push(nth);
    for (const pattern of patterns) this.addPattern(nth, pattern);
  }

  private addPattern(nth: number, pattern: string): void {
    if (!isBelow(pattern)) return enter(this.exact, pattern, nth);
    const prefix = pattern.slice(0, -1);
    if (prefix.endsWith('/')) {
      this.longest = Math.max(this.longest, prefix.length);
      return enter(this.below, prefix, nth);
    }
    if (!this.lengths.includes(prefix.length)) this.lengths = [...this.lengths, prefix.length].sort((a, b) => a - b);
    enter(this.beginning, prefix, nth);
  }

  /** The first block that a pattern matches and that passes `test`, or -1. Blocks are tested in their order, and none after it. */
  first(path: string, test: (nth: number) => boolean): number {
    const lists = this.listsFor(path);
    const at = lists.map(() => 0);
    for (;;) {
      let next = -1;
      for (let list = 0; list < lists.length; list++) {
        const nth = lists[list]?.[at[list] as number];
        if (nth !== undefined && (next < 0 || nth < next)) next = nth;
      }
      if (next < 0 || test(next)) return next;
      // Several patterns of a block may match.
      for (let list = 0; list < lists.length; list++) if (lists[list]?.[at[list] as number] === next) at[list] = (at[list] as number) + 1;
    }
  }

  private listsFor(path: string): (readonly number[])[] {
    const lists: (readonly number[])[] = this.any.length > 0 ? [this.any] : [];
    const put = (list: readonly number[] | undefined): void => void (list !== undefined && lists.push(list));
    put(this.exact.get(path));
    for (let slash = path.indexOf('/'); slash >= 0 && slash < this.longest; slash = path.indexOf('/', slash + 1))
      put(this.below.get(path.slice(0, slash + 1)));
    for (const length of this.lengths) {
      if (length > path.length) break;
      put(this.beginning.get(path.slice(0, length)));
    }
    return lists;
  }
}

function enter(lists: Map<string, number[]>, key: string, nth: number): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [nth]);
  // Patterns of one block may be equal in the form in which they are compared.
  else if (list.at(-1) !== nth) list.push(nth);
}
