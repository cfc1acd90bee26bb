/** Finds the first of many path patterns that covers a path or pattern, as `covers` would one after the other. */
export class FirstCovering<Value> {
  private readonly entries = new Map<string, { readonly order: number; readonly value: Value }>();
  /** How long the patterns with a `*` are. */
  private readonly lengths = new Set<number>();

  /** null matches every path. */
  add(pattern: string | null, value: Value): void {
    const key = pattern ?? EVERY_PATH;
    if (this.entries.has(key)) return;
    this.entries.set(key, { order: this.entries.size, value });
    if (key.endsWith('*')) this.lengths.add(key.length);
  }

  find(pattern: string | null): Value | undefined {
    let first = this.entries.get(EVERY_PATH);
    if (pattern === null) return first?.value;
    const consider = (key: string) => {
      const entry = this.entries.get(key);
      if (entry !== undefined && (first === undefined || entry.order < first.order)) first = entry;
    };
    consider(pattern);
    for (const length of this.lengths) if (length <= pattern.length + 1) consider(`${pattern.slice(0, length - 1)}*`);
    return first?.value;
  }
}

const EVERY_PATH = '/*';
