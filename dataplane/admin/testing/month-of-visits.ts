import { SampleRandom } from '../../traffic/codec/http1/oracle/testing/sample-random.ts';
import type { MachineReason, VitalsObservation } from '../../traffic/protocol.ts';
import { BOTS, BROWSERS, type Browser, MONITORS } from '../../traffic/testing/samples/browsers.ts';

export const HOSTS = 50;
export const DAYS = 31;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** How many people know the busiest host; the others have fewer in proportion. */
const PEOPLE = 9_000;
/** Hosts with more pages than any list keeps. */
const LARGE_HOSTS = 2;

export type Campaign = { readonly utm_source: string; readonly utm_medium: string; readonly utm_campaign: string };

/** One request, and what there is to be counted about it. */
export type Visit = {
  /** When it is reported (ms since 1970). */
  readonly at: number;
  readonly host: string;
  readonly address: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly bytes: number;
  readonly ms: number;
  /** The host of its Referer, which may be its own; empty if it has none. */
  readonly from: string;
  readonly campaign: Campaign | null;
  readonly userAgent: string;
  readonly machine: MachineReason | null;
  readonly browser: Browser | null;
  /** Whether it is for a page rather than for a part of one. */
  readonly page: boolean;
  /** The measurements that its page reports. */
  readonly vitals: VitalsObservation | null;
};

export const hostName = (at: number): string => `site-${at}.test`;

/** Visits of a month in the order of their time, in groups that are reported at the same time; the same for the same seed. */
export function* monthOfVisits(seed: number, start: number): Generator<readonly Visit[]> {
  const random = new SampleRandom(seed);
  for (let hour = 0; hour < DAYS * 24; hour++)
    for (const minute of [3, 17, 41, 58]) {
      // Nights are quiet, and one day in ten is very busy.
      const busy = (1 + Math.sin(((hour % 24) - 9) / 4)) * (Math.floor(hour / 24) % 10 === 7 ? 3 : 1);
      const count = Math.round(8 * busy) + 1 + random.below(8);
      yield Array.from({ length: count }, () => visit(random, start + hour * HOUR + minute * MINUTE));
    }
}

function visit(random: SampleRandom, at: number): Visit {
  // The first host has about as many visits as the last thirty.
  const number = Math.floor(HOSTS ** (random.below(10_000) / 10_000)) - 1;
  const host = hostName(number);
  const person = random.below(Math.ceil(PEOPLE / (number + 1)));
  const machine = machineReason(random);
  const page = random.below(10) < 6;
  const browser = machine === null || !['bot', 'monitor'].includes(machine) ? (BROWSERS[person % BROWSERS.length] ?? null) : null;
  const userAgent = browser?.fields['user-agent'] ?? random.pick(machine === 'bot' ? BOTS : MONITORS);
  return {
    at,
    host,
    address: addressOf(person),
    method: random.once(12) ? 'POST' : 'GET',
    path: machine === 'excluded' ? `/admin/${random.below(3)}` : page ? pagePath(random, number) : `/static/app-${random.below(5)}.js`,
    status: [301, 304, 404, 500, 499, 103, 206][random.below(40)] ?? 200,
    bytes: 150 + random.below(40_000),
    ms: 0.05 * Math.exp(random.below(13_000) / 1_000),
    from: random.once(4) ? `search-${random.below(20)}.example` : random.once(3) ? host : '',
    campaign: random.once(9) ? campaign(random) : null,
    userAgent,
    machine,
    browser,
    page,
    vitals: random.once(4) ? vitals(random) : null,
  };
}

function machineReason(random: SampleRandom): MachineReason | null {
  const roll = random.below(100);
  if (roll < 12) return 'bot';
  if (roll < 16) return 'monitor';
  if (roll < 19) return 'gpc';
  if (roll < 21) return 'prefetch';
  return roll < 23 ? 'excluded' : null;
}

/** The square makes some pages much more frequent than others. */
const pagePath = (random: SampleRandom, number: number): string => {
  const pages = number < LARGE_HOSTS ? 600 : 5 + (number % 60);
  return `/page-${Math.floor(pages * (random.below(1_000) / 1_000) ** 3)}`;
};

const campaign = (random: SampleRandom): Campaign => ({
  utm_source: `source-${random.below(12)}`,
  utm_medium: random.pick(['email', 'social', 'cpc']),
  utm_campaign: `campaign ${random.below(25)}`,
});

const vitals = (random: SampleRandom): VitalsObservation => ({
  ...(!random.once(10) && { lcp: 300 + random.below(6_000) }),
  ...(!random.once(5) && { cls: random.once(3) ? 0 : random.below(400) / 1_000 }),
  ...(random.once(2) && { inp: 8 * (1 + random.below(100)) }),
});

/** A public address, somewhere. */
const addressOf = (person: number): string => {
  const mixed = Math.imul(person + 1, 0x9e3779b1) >>> 0;
  return [((mixed >>> 24) % 90) + 20, (mixed >>> 16) & 255, (mixed >>> 8) & 255, mixed & 255].join('.');
};
