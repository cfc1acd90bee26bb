import type { AvailableIssuers } from '../../shared/certificates/issuer.ts';
import type { JwtKey } from '../../shared/policy/jwt/keys.ts';
import type { BotName } from '../../shared/policy/under-attack/bots.ts';
import type { LogLevel } from '../../shared/runtime/log/log.ts';
import type { LogLine } from '../../shared/runtime/log/log-line.ts';
import type { Cidr } from '../../shared/values/cidr.ts';
import type { LedgerBuffers } from '../ledger/ledger.ts';
import type { CacheFromWorker, CacheToWorker } from './cache-messages.ts';

/**
 * Everything that crosses between the main thread and a traffic worker. The main thread publishes numbered states, and each worker reports
 * when it serves one. The main thread also requests counters and dry runs.
 */

/** How sites get HTTPS. */
export type HttpsSettings = AvailableIssuers & {
  /** The port that visitors use. */
  readonly publicPort: number;
};

/** Which requests are sampled. */
export type TracingSettings = {
  /** From 0 to 1; of the requests for which no trusted sender has decided. */
  readonly ratio: number;
  /** Whether every client may decide for its requests, not only trusted proxies. */
  readonly trustsClients: boolean;
};

/** The settings that the traffic path needs. */
export type TrafficSettings = {
  /** Address to listen on; null is every address, IPv4 and IPv6. */
  readonly bind: string | null;
  /** The main port; it is the one that certificate authorities connect to. */
  readonly httpPort: number;
  readonly otherHttpPorts: readonly number[];
  /** null while nothing needs HTTPS; the port stays closed. */
  readonly httpsPort: number | null;
  readonly otherHttpsPorts: readonly number[];
  /** Those that stay closed, because they can't be opened at the moment. */
  readonly closedPorts: readonly number[];
  readonly https: HttpsSettings;
  readonly trustedProxies: readonly Cidr[];
  /** Every connection begins with a PROXY header. */
  readonly proxyProtocol: boolean;
  /** The same, for connections to these ports. */
  readonly proxyProtocolPorts: readonly number[];
  /** The maximum number of open connections: from all clients, from one client address, and from clients and to upstreams together. */
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  readonly maxSockets: number;
  readonly logLevel: LogLevel;
  /** The default output of the access log: `stdout`, a path, or null for none. */
  readonly accessLog: string | null;
  /** null if requests are not traced. */
  readonly tracing: TracingSettings | null;
  /** The size of the response cache in bytes; 0: there is none. */
  readonly cacheSize: number;
};

/** How the cache handled requests. */
const CACHE_RESULTS = ['hit', 'stale', 'revalidated', 'miss', 'collapsed', 'pass'] as const;
export type CacheResult = (typeof CACHE_RESULTS)[number];

/** What became of the copy that a mirror was to get: how it responded, whether it failed to, or that no copy was made. */
export type MirrorResult = '2xx' | '3xx' | '4xx' | '5xx' | 'failed' | 'skipped';

/** What became of a TLS connection that was to be passed through: it was, no target accepted it, or there was none. */
export type PassedResult = 'passed' | 'failed' | 'no_target';

/**
 * Entries to add or replace, packed by `packEntries`: routes by domain with their RouteSpec as JSON, certificates by
 * name. One buffer serves all workers; a worker reads it piecewise and swaps once.
 */
export type EntriesPublication = {
  /** true: this is the complete set. */
  readonly whole: boolean;
  readonly packed: SharedArrayBuffer | null;
  readonly count: number;
  readonly removed: readonly string[];
};

/** The responses to a certificate authority's challenges, over HTTP or in a handshake. */
export type PublishedChallenge =
  /** RFC 8555 8.3: a token and the response to it. */
  | { readonly token: string; readonly keyAuthorization: string }
  /** RFC 8737: a certificate, PEM, for handshakes that offer only `acme-tls/1` with this name. */
  | { readonly name: string; readonly certificate: string; readonly privateKey: string };

/** The keys of an issuer of tokens, as fetched from its URL. */
export type PublishedKeySet = {
  /** By `sourceName`. */
  readonly name: string;
  /** null while there are none that may be used. */
  readonly keys: readonly JwtKey[] | null;
  /** When they were last requested (ms since 1970), successfully or not. */
  readonly triedAt: number;
  /** Why that failed; null if it did not. */
  readonly failure: string | null;
};

/** An address, and the search engine that its User-Agent names. */
export type BotClaim = { readonly bot: BotName; readonly address: string };
/** Whether that is true, according to DNS, and until when that counts (ms since 1970). */
export type BotVerdict = BotClaim & { readonly verified: boolean; readonly until: number };

export type Publication = {
  readonly generation: number;
  readonly routes?: EntriesPublication;
  /** Certificates by the names they are used for. */
  readonly certificates?: EntriesPublication;
  /** All pending challenges. */
  readonly challenges?: readonly PublishedChallenge[];
  /** Names whose certificate could not be obtained and is not being ordered now: handshakes for them do not wait. */
  readonly uncertified?: readonly string[];
  /** 48 bytes: the key that encrypts session tickets. */
  readonly ticketKeys?: Uint8Array;
  readonly settings?: TrafficSettings;
  /** All of them. */
  readonly keySets?: readonly PublishedKeySet[];
};

/** Everything that a worker starts with. */
export type WholeState = Publication & { readonly settings: TrafficSettings };

export type WorkerStart = {
  /** Names the worker in logs; never used twice in one process. */
  readonly worker: number;
  /** The column of the ledger it writes; free again when the worker has ended. */
  readonly slot: number;
  readonly ledger: LedgerBuffers;
  readonly state: WholeState;
  /** The Unix socket through which a predecessor passes its listening sockets; null without one. */
  readonly listenersFrom: string | null;
  /** The key for hashing visitors' addresses; the same in all workers. */
  readonly hashKey: Uint8Array;
  readonly memoryBytes: number;
  /** null if it is not installed. */
  readonly countries: CountryDatabase | null;
};

/** The countries of addresses. */
export type CountryDatabase = { readonly ipv4: DatabaseFile; readonly ipv6: DatabaseFile };

/** A MaxMind DB. All workers share the memory for it, which is empty until one of them fills it; nothing closes its file. */
export type DatabaseFile = {
  readonly descriptor: number;
  readonly memory: SharedArrayBuffer;
  /** A word that is 1 once the memory is filled. */
  readonly filled: SharedArrayBuffer;
};

/** The origin is a URL without a path. */
export type DryRun = { readonly origin: string; readonly target: string };

/** A listening socket of a worker, by its address and port. */
export type ListeningSocket = { readonly name: string; readonly descriptor: number };

export type ToWorker =
  | { readonly kind: 'publish'; readonly publication: Publication }
  | { readonly kind: 'report'; readonly id: number }
  /** The main thread has taken a part of a report, and the next one may follow. */
  | { readonly kind: 'report-taken' }
  | { readonly kind: 'dry-run'; readonly id: number; readonly request: DryRun }
  /** A target is back in rotation according to the ledger: requests that wait for one are tried. */
  | { readonly kind: 'verdicts' }
  | { readonly kind: 'cache'; readonly message: CacheToWorker }
  | { readonly kind: 'bot'; readonly verdict: BotVerdict }
  | { readonly kind: 'drain'; readonly idleClose: IdleClose };

/** When a draining worker closes idle connections: on the response to one more request while another worker has the same ports. */
export type IdleClose = 'now' | 'on-response';

export type FromWorker =
  | { readonly kind: 'serving'; readonly generation: number; readonly listeners: readonly ListeningSocket[] }
  /** If settings were published, with the listening sockets, and in `refused` the port that it can't open; null if it has opened all. */
  | {
      readonly kind: 'acknowledged';
      readonly generation: number;
      readonly refused?: { readonly code: string; readonly message: string } | null;
      readonly listeners?: readonly ListeningSocket[];
    }
  /** `id` null: sent without a request, once a second. `more`: parts follow. */
  | { readonly kind: 'report'; readonly id: number | null; readonly report: TrafficReport; readonly more: boolean }
  | { readonly kind: 'dry-run'; readonly id: number; readonly result: DryRunResult }
  | { readonly kind: 'drained' }
  /** The main thread writes the log; workers have no logger of their own. */
  | LogLine
  /** A target left the rotation after consecutive failures, or is back after a response. */
  | { readonly kind: 'target'; readonly change: TargetChange }
  /** A target with an id does not accept connections. */
  | { readonly kind: 'lost'; readonly target: { readonly address: string; readonly id: string } }
  /** A handshake waits for the first certificate of a name. */
  | { readonly kind: 'awaited'; readonly name: string }
  /** A token is from a key that a set does not have, or the set has no keys. */
  | { readonly kind: 'key-wanted'; readonly name: string }
  /** A client of an attacked site claims to be a search engine. */
  | { readonly kind: 'bot-claimed'; readonly claim: BotClaim }
  /** It has lines for the access log. */
  | { readonly kind: 'access-log' }
  | { readonly kind: 'cache'; readonly message: CacheFromWorker }
  /** It can't listen: the process logs that and exits. `port` null: it is not known on which one. */
  | { readonly kind: 'refused'; readonly code: string; readonly message: string; readonly port: number | null };

/** `reason` in words, empty when the target is healthy; `id` as its source names it. */
export type TargetChange = {
  readonly address: string;
  readonly tls: boolean;
  readonly id?: string;
  /** The transport to it, if not the usual one. */
  readonly transport?: string;
  readonly healthy: boolean;
  readonly reason: string;
  /** Whether it still gets the requests of all clients but one. */
  readonly forOneClient?: boolean;
};

/** The counts of a worker since its last report. */
export type TrafficReport = {
  readonly domains: readonly DomainReport[];
  /** Attempts that failed through their target's fault; absent if there were none. */
  readonly targets?: readonly TargetFailures[];
  /** Exceptions by what they ended; absent if there were none. */
  readonly faults?: readonly (readonly [ended: FaultScope, count: number])[];
};

/** What an exception can end: one exchange, a connection without an exchange, or nothing that is known. */
export const FAULT_SCOPES = ['exchange', 'connection', 'nothing'] as const;
export type FaultScope = (typeof FAULT_SCOPES)[number];

export type TargetFailures = Pick<TargetChange, 'address' | 'tls' | 'id' | 'transport'> & {
  readonly count: number;
  /** The last of them: its stable code, its description, and when it happened (ms since 1970). */
  readonly code: string;
  readonly reason: string;
  readonly at: number;
};

export type DomainReport = {
  /** The requested host: the key for analytics. */
  readonly host: string;
  /** The route's domain, possibly a wildcard: the metric label. */
  readonly pattern: string;
  readonly requests: number;
  /** Answers by class: 1xx, 2xx, 3xx, 4xx, 5xx, other (499 among them). */
  readonly classes: readonly [number, number, number, number, number, number];
  /** Response bytes to the client, heads and bodies. */
  readonly bytes: number;
  /** Requests by duration, one count per bound of DURATION_BOUNDS and one beyond; and their sum in seconds. */
  readonly durations: readonly number[];
  readonly durationSum: number;
  /** Requests by their duration in ms, in logarithmic buckets (`shared/log-buckets.ts`). */
  readonly latency: readonly (readonly [bucket: number, count: number])[];
  /** Keyed 53-bit hashes of client addresses, at most one of each per report. */
  readonly visitors: readonly number[];
  readonly pages: readonly (readonly [path: string, views: number])[];
  readonly referrers: readonly (readonly [host: string, count: number])[];
  /** Requests by the country of the client, where it is known. */
  readonly countries: readonly (readonly [country: string, count: number])[];
  readonly audience: Audience;
  readonly vitals: readonly VitalsObservation[];
  /** Pages of a site that measures them, by what became of the script. */
  readonly beacons: readonly (readonly [outcome: BeaconOutcome, count: number])[];
  /** Requests that an upstream's failure ended, by its code. */
  readonly failures: readonly (readonly [code: string, count: number])[];
  /** Requests that the cache handled; absent if there were none. */
  readonly cache?: readonly (readonly [result: CacheResult, count: number])[];
  /** Bytes of bodies that were sent from the cache; absent if there were none. */
  readonly cacheBytes?: number;
  /** Copies for a mirror; absent if there were none. */
  readonly mirrored?: readonly (readonly [result: MirrorResult, count: number])[];
  /** TLS connections that were passed through, and their bytes from and to clients; absent if there were none. */
  readonly passed?: {
    readonly results: readonly (readonly [result: PassedResult, count: number])[];
    readonly received: number;
    readonly sent: number;
  };
};

/** Why a request is not one of a person, the first reason that applies. */
export const MACHINE_REASONS = ['excluded', 'gpc', 'prefetch', 'monitor', 'bot'] as const;
export type MachineReason = (typeof MACHINE_REASONS)[number];

/** The lists about the pages that people view. */
export const LIST_NAMES = [
  ...(['pages', 'entry_pages', 'referrers', 'countries', 'browsers', 'systems', 'devices'] as const),
  ...(['utm_source', 'utm_medium', 'utm_campaign'] as const),
] as const;
export type ListName = (typeof LIST_NAMES)[number];

/** The people among the clients of one host, and the pages that they viewed. `humans` and all `machines` together are all requests. */
export type Audience = {
  readonly humans: number;
  readonly machines: Readonly<Record<MachineReason, number>>;
  /** Requests of people for pages rather than for images, scripts and the like. */
  readonly pageViews: number;
  /** Keyed 53-bit hashes of people's addresses, at most one of each per report. */
  readonly visitors: readonly number[];
  readonly lists: Readonly<Record<ListName, readonly (readonly [name: string, count: number])[]>>;
};

/**
 * What became of the script that measures a page: it was added, a policy of the page forbids it, the page has no end of a head, it is not
 * in UTF-8, its content coding is unknown, or it is compressed and no memory is left for that.
 */
export type BeaconOutcome = 'added' | 'forbidden' | 'no head' | 'encoding' | 'coding' | 'memory';

/** The Web Vitals: LCP and INP in ms, CLS as a score. */
export const VITALS = ['lcp', 'cls', 'inp'] as const;
export type Vital = (typeof VITALS)[number];

/** What one page measured of itself; a metric that it did not measure is absent. */
export type VitalsObservation = { readonly [Metric in Vital]?: number };

/** Upper bounds in seconds of the request duration histogram. */
export const DURATION_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

/** Unrouted requests and refused heads carry this pattern and no host. */
export const UNROUTED = '';

export type DryRunResult = {
  readonly verdict: string;
  readonly routed: boolean;
  readonly matched: string | null;
  /** The port of this machine that the request would arrive at. */
  readonly port: number;
  readonly block: { readonly path: string | null; readonly index: number } | null;
  readonly policies: readonly { readonly name: string; readonly verdict: string }[];
  /** `address`, `tls`, `id` and `transport` of each target that could be chosen, in the order of the pool. */
  readonly targets: readonly Pick<TargetChange, 'address' | 'tls' | 'id' | 'transport'>[];
};
