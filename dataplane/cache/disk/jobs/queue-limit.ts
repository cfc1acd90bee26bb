import type { WriteOutcome } from '../messages.ts';

/** The maximum memory of responses that wait to be written, as a fraction of the cache, and their maximum number. */
const PART = 0.125;
const MAX = 1_024;

/** Limits how much may wait for the disk, and counts the responses that are written and dropped. */
export class QueueLimit {
  private most: number;
  private bytes = 0;
  private count = 0;
  written = 0;
  dropped = 0;

  /** `cacheSize` in bytes. */
  constructor(cacheSize: number) {
    this.most = cacheSize * PART;
  }

  resize(cacheSize: number): void {
    this.most = cacheSize * PART;
  }

  /** @returns whether there is room for a response of this length; if not, it counts as dropped. */
  reserve(length: number): boolean {
    if (this.count >= MAX || this.bytes + length > this.most) {
      this.dropped++;
      return false;
    }
    this.bytes += length;
    this.count++;
    return true;
  }

  settled(length: number, outcome: WriteOutcome): void {
    this.bytes -= length;
    this.count--;
    if (outcome === 'written') this.written++;
    else if (outcome === 'dropped') this.dropped++;
  }

  /** Everything that waited is lost. */
  empty(): void {
    this.dropped += this.count;
    this.bytes = 0;
    this.count = 0;
  }
}
