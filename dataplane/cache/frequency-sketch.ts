const ROWS = 4;
const MAX = 15;

/** Roughly how often keys were used lately: a count-min sketch whose counts are halved after many uses (Einziger et al., TinyLFU). */
export class FrequencySketch {
  private readonly counts: Uint8Array;
  private readonly mask: number;
  private readonly sample: number;
  private added = 0;

  /** `entries` is the approximate number of keys; each row has four counts for each. */
  constructor(entries: number) {
    const width = 2 ** Math.ceil(Math.log2(Math.max(64, entries * 4)));
    this.mask = width - 1;
    this.counts = new Uint8Array(width * ROWS);
    this.sample = entries * 10;
  }

  add(hash: number, times = 1): void {
    for (let row = 0; row < ROWS; row++) {
      const at = this.place(hash, row);
      this.counts[at] = Math.min(MAX, (this.counts[at] as number) + times);
    }
    this.added += times;
    if (this.added >= this.sample) this.age();
  }

  estimate(hash: number): number {
    let least = MAX;
    for (let row = 0; row < ROWS; row++) least = Math.min(least, this.counts[this.place(hash, row)] as number);
    return least;
  }

  private place(hash: number, row: number): number {
    let mixed = Math.imul(hash ^ (row * 0x9e3779b1), 0x85ebca6b);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0xc2b2ae35);
    mixed ^= mixed >>> 13;
    return row * (this.mask + 1) + ((mixed >>> 0) & this.mask);
  }

  private age(): void {
    for (let at = 0; at < this.counts.length; at++) this.counts[at] = (this.counts[at] as number) >> 1;
    this.added >>= 1;
  }
}

/** FNV-1a, 32 bits. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
