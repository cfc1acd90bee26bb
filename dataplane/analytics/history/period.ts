import { deflateSync, inflateSync } from 'node:zlib';
import {
  type DomainReport,
  LIST_NAMES,
  type ListName,
  MACHINE_REASONS,
  type MachineReason,
  VITALS,
  type Vital,
} from '../../traffic/protocol.ts';
import { Distinct, type DistinctSize } from '../sketches/distinct.ts';
import { LogHistogram } from '../sketches/log-histogram.ts';
import { SpaceSaving } from '../sketches/space-saving.ts';
import { VitalCounts } from './vital-counts.ts';

/** A standard error of 1.6 % beyond 256 visitors, in 2 KB. */
export const KEPT_VISITORS: DistinctSize = { exact: 256, precision: 12 };
/** For answers, which are not kept: a sum of exact periods is exact. */
export const ANSWERED_VISITORS: DistinctSize = { ...KEPT_VISITORS, exact: 65_536 };
/** How many names of each list are kept. */
const KEPT: Readonly<Record<ListName, number>> = {
  pages: 128,
  entry_pages: 64,
  referrers: 64,
  countries: 64,
  browsers: 32,
  systems: 32,
  devices: 8,
  utm_source: 32,
  utm_medium: 32,
  utm_campaign: 32,
};
/** The approximate memory of a period without any entries, and of each entry of its lists and histograms (bytes). */
const EMPTY_BYTES = 1_500;
const ENTRY_BYTES = 60;
const MIN_CHUNK = 256;
const VERSION = 1;
/** A row that claims to be larger when it is unpacked is damaged. */
const MAX_UNPACKED = 1_048_576;

/** The members of a written period, in the order of their meaning; short, since there may be millions. */
type PackedPeriod = {
  readonly v: typeof VERSION;
  /** Views, humans, page views, bytes. */
  readonly n: readonly [number, number, number, number];
  readonly m: readonly number[];
  readonly s: readonly number[];
  readonly d: string;
  readonly l: readonly (readonly [number, number])[];
  readonly w: readonly (readonly [
    good: number,
    needsImprovement: number,
    poor: number,
    histogram: readonly (readonly [number, number])[],
  ])[];
  readonly t: Readonly<Partial<Record<ListName, readonly (readonly [string, number])[]>>>;
};

/** Everything that history keeps for one host and one hour, one day, or any longer period. Periods can be merged. */
export class Period {
  views = 0;
  humans = 0;
  pageViews = 0;
  bytes = 0;
  readonly machines: Record<MachineReason, number> = { bot: 0, monitor: 0, prefetch: 0, excluded: 0, gpc: 0 };
  /** 1xx, 2xx, 3xx, 4xx, 5xx, other. */
  readonly classes: [number, number, number, number, number, number] = [0, 0, 0, 0, 0, 0];
  readonly latency = new LogHistogram();
  readonly vitals: Readonly<Record<Vital, VitalCounts>> = {
    lcp: new VitalCounts('lcp'),
    cls: new VitalCounts('cls'),
    inp: new VitalCounts('inp'),
  };
  private people: Distinct;
  private readonly lists = new Map<ListName, SpaceSaving>();

  constructor(visitors = KEPT_VISITORS) {
    this.people = new Distinct(visitors);
  }

  get visitors(): number {
    return this.people.count;
  }

  /** Its approximate size in memory (bytes). */
  get memory(): number {
    let entries = this.latency.size;
    for (const vital of VITALS) entries += this.vitals[vital].histogram.size;
    for (const list of this.lists.values()) entries += list.size;
    return EMPTY_BYTES + this.people.bytes + entries * ENTRY_BYTES;
  }

  add({ requests, classes, bytes, latency, vitals, audience }: DomainReport): void {
    this.views += requests;
    this.bytes += bytes;
    this.addClasses(classes);
    for (const [bucket, count] of latency) this.latency.add(bucket, count);
    for (const observation of vitals)
      for (const vital of VITALS) {
        const value = observation[vital];
        if (value !== undefined) this.vitals[vital].add(value);
      }
    this.humans += audience.humans;
    this.pageViews += audience.pageViews;
    for (const reason of MACHINE_REASONS) this.machines[reason] += audience.machines[reason];
    for (const hash of audience.visitors) this.people.add(hash);
    for (const name of LIST_NAMES) for (const [entry, count] of audience.lists[name]) this.list(name).add(entry, count);
  }

  merge(other: Period): void {
    this.mergeCounts(other);
    for (const [name, list] of other.lists) this.list(name).merge(list);
  }

  /** Everything but the lists, which take most of the time if they are full. */
  mergeCounts(other: Period): void {
    this.views += other.views;
    this.humans += other.humans;
    this.pageViews += other.pageViews;
    this.bytes += other.bytes;
    this.addClasses(other.classes);
    for (const reason of MACHINE_REASONS) this.machines[reason] += other.machines[reason];
    this.latency.merge(other.latency);
    for (const vital of VITALS) this.vitals[vital].merge(other.vitals[vital]);
    this.people.merge(other.people);
  }

  /** The most frequent entries of a list, most first, ties by name. */
  top(name: ListName, most: number): [name: string, count: number][] {
    return this.lists.get(name)?.top(most) ?? [];
  }

  encode(): Buffer {
    const written: PackedPeriod = {
      v: VERSION,
      n: [this.views, this.humans, this.pageViews, this.bytes],
      m: MACHINE_REASONS.map((reason) => this.machines[reason]),
      s: this.classes,
      d: this.people.write().toString('base64'),
      l: this.latency.entries(),
      w: VITALS.map((vital) => {
        const { good, needsImprovement, poor, histogram } = this.vitals[vital];
        return [good, needsImprovement, poor, histogram.entries()] as const;
      }),
      t: Object.fromEntries([...this.lists].map(([name, list]) => [name, list.top(KEPT[name])])),
    };
    const text = JSON.stringify(written);
    return deflateSync(text, { level: 3, chunkSize: chunkFor(text.length) });
  }

  /** @throws if the bytes were not written by `encode`. */
  static decode(bytes: Uint8Array): Period {
    const written: PackedPeriod = JSON.parse(
      inflateSync(bytes, { maxOutputLength: MAX_UNPACKED, chunkSize: chunkFor(3 * bytes.length) }).toString(),
    );
    if (written.v !== VERSION) throw new RangeError(`a period of format ${written.v}`);
    const period = new Period();
    [period.views, period.humans, period.pageViews, period.bytes] = written.n;
    for (const [at, reason] of MACHINE_REASONS.entries()) period.machines[reason] = written.m[at] ?? 0;
    period.addClasses(written.s);
    period.people = Distinct.read(KEPT_VISITORS, Buffer.from(written.d, 'base64'));
    for (const [bucket, count] of written.l) period.latency.add(bucket, count);
    for (const [at, vital] of VITALS.entries()) {
      const [good = 0, needsImprovement = 0, poor = 0, histogram = []] = written.w[at] ?? [];
      Object.assign(period.vitals[vital], { good, needsImprovement, poor });
      for (const [bucket, count] of histogram) period.vitals[vital].histogram.add(bucket, count);
    }
    for (const name of LIST_NAMES) for (const [entry, count] of written.t[name] ?? []) period.list(name).add(entry, count);
    return period;
  }

  private addClasses(classes: readonly number[]): void {
    for (const [index, count] of classes.entries()) this.classes[index] = (this.classes[index] ?? 0) + count;
  }

  private list(name: ListName): SpaceSaving {
    let list = this.lists.get(name);
    if (list === undefined) {
      list = new SpaceSaving(KEPT[name]);
      this.lists.set(name, list);
    }
    return list;
  }
}

/**
 * How much memory zlib gets at a time. Most rows are much shorter than its default of 16 KB, and so much for each of thousands of rows keeps
 * the garbage collector busy.
 */
const chunkFor = (bytes: number): number => Math.min(16_384, Math.max(MIN_CHUNK, bytes));
