import { createHmac } from 'node:crypto';
import { bucketOf } from '../../../shared/log-buckets.ts';
import { OWN_PATH_PREFIX } from '../../../shared/name.ts';
import { normalizedPath } from '../../../shared/values/path.ts';
import { targetName } from '../../ledger/targets.ts';
import type { Exchange, Site } from '../exchange/exchange.ts';
import type { Failure } from '../exchange/failure.ts';
import type { Countries } from '../match/countries.ts';
import { rawPath } from '../match/path.ts';
import {
  type BeaconOutcome,
  type CacheResult,
  type DomainReport,
  DURATION_BOUNDS,
  type MachineReason,
  type MirrorResult,
  type PassedResult,
  type TargetFailures,
  type TrafficReport,
  UNROUTED,
  type VitalsObservation,
} from '../protocol.ts';
import type { TargetName } from '../upstream/target/endpoint.ts';
import { AudienceCounts } from './audience.ts';
import { isPageView } from './page-view.ts';
import { increment } from './tally.ts';
import { UserAgents } from './user-agents.ts';

/** Longer paths and names of referring hosts are cut (characters), so that counts have a bounded size. */
const MAX_PATH = 256;
const MAX_REFERRER = 128;
/** Hosts in one part of a report: together they take a few milliseconds on either side. */
const HOSTS_PER_PART = 250;
/**
 * The maximum number of hosts below one wildcard, and below all of them, with counts of their own in one report. Clients can invent any
 * number of such hosts: the others are counted for the wildcard itself.
 */
const MAX_HOSTS_PER_PATTERN = 1_000;
const MAX_HOSTS_OF_PATTERNS = 4_000;
/** The maximum number of targets whose failures are counted separately in one report. */
const MAX_FAILING = 1_000;
/** The maximum number of observations of Web Vitals of one host in one report; the ledger's limit per client address bounds them, too. */
const MAX_VITALS = 1_000;
/** The same for all hosts together: the main thread takes 20 µs for each, and a flood may come from any addresses and go to any hosts. */
const MAX_VITALS_IN_ALL = 2_000;
/** The maximum number of client addresses whose hash and country are cached. */
const KNOWN_CLIENTS = 16_384;

type KnownAddress = {
  readonly hash: number;
  readonly country: string;
  /** The counters (their number) that last counted it as a visitor, and as a person: its consecutive requests are mostly for one host. */
  visited: number;
  person: number;
};

/** The host of a request, and the domain of its route. */
export type Mirrored = { readonly host: string; readonly pattern: string };

/** The counts of one host since the last report. */
class Counters {
  /** Unique among the counters of the worker; 1 or more. */
  readonly number: number;
  readonly host: string;
  readonly pattern: string;
  requests = 0;
  readonly classes: [number, number, number, number, number, number] = [0, 0, 0, 0, 0, 0];
  bytes = 0;
  readonly durations = new Array<number>(DURATION_BOUNDS.length + 1).fill(0);
  durationSum = 0;
  readonly latency = new Map<number, number>();
  readonly audience = new AudienceCounts();
  readonly visitors = new Set<number>();
  readonly pages = new Map<string, number>();
  readonly referrers = new Map<string, number>();
  readonly countries = new Map<string, number>();
  readonly vitals: VitalsObservation[] = [];
  readonly beacons = new Map<BeaconOutcome, number>();
  readonly failures = new Map<string, number>();
  readonly cache = new Map<CacheResult, number>();
  cacheBytes = 0;
  readonly mirrored = new Map<MirrorResult, number>();
  passed: { results: Map<PassedResult, number>; received: number; sent: number } | null = null;

  constructor(number: number, host: string, pattern: string) {
    this.number = number;
    this.host = host;
    this.pattern = pattern;
  }

  report(): DomainReport {
    const { host, pattern, requests, classes, bytes, durations, durationSum, vitals } = this;
    return {
      host,
      pattern,
      requests,
      classes,
      bytes,
      durations,
      durationSum,
      latency: [...this.latency],
      audience: this.audience.report(),
      visitors: [...this.visitors],
      pages: [...this.pages],
      referrers: [...this.referrers],
      countries: [...this.countries],
      vitals,
      beacons: [...this.beacons],
      failures: [...this.failures],
      ...(this.cache.size > 0 && { cache: [...this.cache], cacheBytes: this.cacheBytes }),
      ...(this.mirrored.size > 0 && { mirrored: [...this.mirrored] }),
      ...(this.passed !== null && { passed: { ...this.passed, results: [...this.passed.results] } }),
    };
  }
}

function* parts(domains: readonly Counters[], targets: readonly TargetFailures[]): Generator<TrafficReport, TrafficReport> {
  let from = 0;
  for (; from + HOSTS_PER_PART < domains.length; from += HOSTS_PER_PART)
    yield { domains: domains.slice(from, from + HOSTS_PER_PART).map((one) => one.report()) };
  return { domains: domains.slice(from).map((one) => one.report()), ...(targets.length > 0 && { targets }) };
}

/** Exchange → counters. Everything that may lag is collected here and sent to the main thread once a second. */
export class Recorder {
  private domains = new Map<string, Counters>();
  /** How many hosts below each wildcard, and below all of them, have counts of their own since the last report. */
  private readonly hostsByPattern = new Map<string, number>();
  private hostsOfPatterns = 0;
  private failing = new Map<string, TargetFailures>();
  private created = 0;
  /** Observations of Web Vitals since the last report. */
  private observations = 0;
  private readonly addresses = new Map<string, KnownAddress>();
  private readonly userAgents = new UserAgents();
  private readonly hashKey: Uint8Array;
  private readonly countries: Countries;

  constructor(hashKey: Uint8Array, countries: Countries) {
    this.hashKey = hashKey;
    this.countries = countries;
  }

  /** Counts an exchange that is over; `now` on the monotonic clock, in ms. */
  record(x: Exchange, now: number): void {
    if (x.path.startsWith(OWN_PATH_PREFIX)) return this.recordOwn(x);
    const route = x.route;
    const counters = route === null ? this.countersOf(UNROUTED, UNROUTED) : this.countersOf(x.host, route.domain);
    this.count(counters, x.status, x.bytesSent, (now - x.startedAt) / 1_000);
    if (route === null) return;
    if (x.cached !== null) {
      counters.cache.set(x.cached, (counters.cache.get(x.cached) ?? 0) + 1);
      if (x.cached === 'hit' || x.cached === 'stale' || x.cached === 'revalidated') counters.cacheBytes += x.bodySent;
    }
    const failure = x.lastFailure;
    // A failure that a retry recovered from, or whose client left meanwhile, did not end the exchange.
    if (failure !== null && x.failure === failure.reason)
      counters.failures.set(failure.code, (counters.failures.get(failure.code) ?? 0) + 1);
    const address = this.knownAddress(x.client.address);
    if (address.visited !== counters.number) {
      address.visited = counters.number;
      counters.visitors.add(address.hash);
    }
    if (address.country !== '') counters.countries.set(address.country, (counters.countries.get(address.country) ?? 0) + 1);
    increment(counters.pages, listedPath(rawPath(x.target)));
    if (x.beacon !== null) counters.beacons.set(x.beacon, (counters.beacons.get(x.beacon) ?? 0) + 1);
    const from = x.referer === null ? '' : hostOf(x.referer);
    const referrer = from === x.host ? '' : from;
    if (referrer !== '') increment(counters.referrers, referrer);
    this.recordAudience(counters, x, route, address, referrer);
  }

  /** Adds bytes to an exchange that has already been counted. */
  addBytes(x: Exchange, bytes: number): void {
    if (x.route !== null) this.countersOf(x.host, x.route.domain).bytes += bytes;
  }

  /** Counts who sent it: a person or a machine, by the first reason that applies. */
  private recordAudience({ audience, number }: Counters, x: Exchange, route: Site, address: KnownAddress, referrer: string): void {
    const agent = this.userAgents.find(x.userAgent);
    const machine = machineOf(x, route, x.path) ?? agent.machine;
    if (machine !== null) return audience.machine(machine);
    audience.humans++;
    if (address.person !== number) {
      address.person = number;
      audience.visitors.add(address.hash);
    }
    // Read again rather than passed on: few requests are views of a page.
    const path = rawPath(x.target);
    if (!isPageView(x, path)) return;
    const client = this.userAgents.clientOf(agent, x.userAgent ?? '');
    audience.pageView({ path, target: x.target, referrer, country: address.country, client }, listedPath(path));
  }

  /** For the proxy's own paths, only measurements of pages are counted, unless the visit to the page was set apart, as with Sec-GPC. */
  private recordOwn(x: Exchange): void {
    const { route, host, vitals } = x;
    if (route === null || vitals === null || machineOf(x, route, pathOf(x.referer ?? '')) !== null) return;
    const counters = this.countersOf(host, route.domain);
    if (counters.vitals.length >= MAX_VITALS || this.observations >= MAX_VITALS_IN_ALL) return;
    counters.vitals.push(vitals);
    this.observations++;
  }

  /** Counts a TLS connection of a route that is passed through, or its bytes. It belongs to no host, since it is not a visit. */
  passed(pattern: string, result: PassedResult | null, received: number, sent: number): void {
    const counters = this.countersOf(UNROUTED, pattern, `${pattern} passed`);
    counters.passed ??= { results: new Map(), received: 0, sent: 0 };
    const { results } = counters.passed;
    if (result !== null) results.set(result, (results.get(result) ?? 0) + 1);
    counters.passed.received += received;
    counters.passed.sent += sent;
  }

  /** Counts what became of a request's copy for a mirror, perhaps long after the request. */
  mirrored({ host, pattern }: Mirrored, result: MirrorResult): void {
    const { mirrored } = this.countersOf(host, pattern);
    mirrored.set(result, (mirrored.get(result) ?? 0) + 1);
  }

  /** Counts a head that was refused before it became an exchange. */
  refused(status: number, bytes: number): void {
    this.count(this.countersOf(UNROUTED, UNROUTED), status, bytes, 0);
  }

  /** An attempt failed through the target's fault; `at` in ms since 1970. */
  targetFailed({ address, serverName, id, transport }: TargetName, { code, reason }: Failure, at: number): void {
    const tls = serverName !== null;
    const name = targetName(address, tls, id, transport.name);
    const count = (this.failing.get(name)?.count ?? 0) + 1;
    if (count > 1 || this.failing.size < MAX_FAILING)
      this.failing.set(name, {
        address,
        tls,
        ...(id !== null && { id }),
        ...(transport.name !== '' && { transport: transport.name }),
        count,
        code,
        reason,
        at,
      });
  }

  /** Everything since the last call, in parts; the last part is the generator's result. */
  drain(): Generator<TrafficReport, TrafficReport> {
    const { domains, failing } = this;
    this.domains = new Map();
    this.failing = new Map();
    this.hostsByPattern.clear();
    this.hostsOfPatterns = 0;
    this.observations = 0;
    this.userAgents.refill();
    return parts([...domains.values()], [...failing.values()]);
  }

  private count(counters: Counters, status: number, bytes: number, seconds: number): void {
    counters.requests++;
    const index = status === 499 || status < 100 || status > 599 ? 5 : Math.floor(status / 100) - 1;
    counters.classes[index as 0] += 1;
    counters.bytes += bytes;
    counters.durationSum += seconds;
    const latency = bucketOf(seconds * 1_000);
    counters.latency.set(latency, (counters.latency.get(latency) ?? 0) + 1);
    let bucket = 0;
    while (bucket < DURATION_BOUNDS.length && seconds > (DURATION_BOUNDS[bucket] as number)) bucket++;
    counters.durations[bucket] = (counters.durations[bucket] as number) + 1;
  }

  private countersOf(host: string, pattern: string, key = host): Counters {
    // A request may name no host, and is then for the catch-all.
    if (key === UNROUTED && pattern !== UNROUTED) return this.countersOf(pattern, pattern);
    const known = this.domains.get(key);
    if (known !== undefined) return known;
    if (host !== pattern && host !== UNROUTED && !this.admitsHost(pattern)) return this.countersOf(pattern, pattern);
    const counters = new Counters(++this.created, host, pattern);
    this.domains.set(key, counters);
    return counters;
  }

  /** Whether one more host below this wildcard gets counts of its own. */
  private admitsHost(pattern: string): boolean {
    const hosts = this.hostsByPattern.get(pattern) ?? 0;
    if (hosts >= MAX_HOSTS_PER_PATTERN || this.hostsOfPatterns >= MAX_HOSTS_OF_PATTERNS) return false;
    this.hostsByPattern.set(pattern, hosts + 1);
    this.hostsOfPatterns++;
    return true;
  }

  private knownAddress(text: string): KnownAddress {
    const known = this.addresses.get(text);
    if (known !== undefined) return known;
    if (this.addresses.size >= KNOWN_CLIENTS) this.addresses.clear();
    const address = { hash: this.hashOf(text), country: this.countries.find(text), visited: 0, person: 0 };
    this.addresses.set(text, address);
    return address;
  }

  /** 53 bits of a keyed hash: no address leaves this thread. */
  private hashOf(address: string): number {
    const digest = createHmac('sha256', this.hashKey).update(address).digest();
    return (digest.readUInt32LE(0) & 0x1fffff) * 2 ** 32 + digest.readUInt32LE(4);
  }
}

const listedPath = (path: string): string => (path.length > MAX_PATH ? path.slice(0, MAX_PATH) : path);

/** Facts about the sender that a request itself states, apart from its User-Agent. `path` is that of the page. */
function machineOf(x: Exchange, { excluded }: Site, path: string): MachineReason | null {
  if (excluded?.(x.client.address, path)) return 'excluded';
  if (x.privacyControl) return 'gpc';
  return x.prefetch ? 'prefetch' : null;
}

/** The path of a Referer as rules match it; `/` if it has none. */
const pathOf = (referer: string): string => normalizedPath(/^https?:\/\/[^/?#]*(\/[^?#]*)/i.exec(referer)?.[1] ?? '/');

/** The host of a Referer in lower case, without port; empty when it has none (RFC 9110 10.1.3). */
function hostOf(referer: string): string {
  const match = /^https?:\/\/(?:[^@/?#]*@)?(\[[^\]/]*\]|[^:/?#]*)/i.exec(referer);
  return (match?.[1] ?? '').toLowerCase().slice(0, MAX_REFERRER);
}
