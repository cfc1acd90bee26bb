/** The items with the highest scores, highest first. Only the best of any number of items are kept and sorted. */
export class Busiest<T> {
  private readonly limit: number;
  private kept: { readonly item: T; readonly score: number }[] = [];
  /** The score that an item has to exceed to be kept. */
  private bar = Number.NEGATIVE_INFINITY;

  constructor(limit: number) {
    this.limit = limit;
  }

  add(item: T, score: number): void {
    if (score <= this.bar) return;
    this.kept.push({ item, score });
    if (this.kept.length >= 2 * this.limit) this.cut();
  }

  list(): T[] {
    this.cut();
    return this.kept.map(({ item }) => item);
  }

  /** Sorting twice the limit now and then costs less than keeping an order. */
  private cut(): void {
    this.kept.sort((a, b) => b.score - a.score);
    if (this.kept.length <= this.limit) return;
    this.kept.length = this.limit;
    this.bar = this.kept.at(-1)?.score ?? this.bar;
  }
}
