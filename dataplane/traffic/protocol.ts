import type { Authorities } from '../../shared/certificates/issuer.ts';
import type { LogLevel } from '../../shared/runtime/log.ts';
import type { Cidr } from '../../shared/values/cidr.ts';
import type { LedgerBuffers } from '../ledger/ledger.ts';

/**
 * Everything that crosses between the main thread and a traffic worker. The main thread publishes
 * numbered states and is told when each is served; it asks for counters and dry runs; that is all.
 */

/** How sites come to HTTPS. */
export type HttpsSettings = Authorities & {
  /** The port that visitors reach. */
  readonly publicPort: number;
};

/** What the traffic path needs to know of the settings. */
export type TrafficSettings = {
  /** Address to listen on; null is every address, IPv4 and IPv6. */
  readonly bind: string | null;
  readonly httpPort: number;
  /** null while nothing needs HTTPS: the port stays closed. */
  readonly httpsPort: number | null;
  readonly https: HttpsSettings;
  readonly trustedProxies: readonly Cidr[];
  /** Every connection begins with a PROXY header. */
  readonly proxyProtocol: boolean;
  /** Open connections: of clients in all, of one client address, and of clients and to upstreams together. */
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  readonly maxSockets: number;
  readonly logLevel: LogLevel;
};

/**
 * Entries to add or replace, packed by `packEntries`: routes by domain with their RouteSpec as JSON, certificates by
 * name. One buffer serves all workers; a worker reads it piecewise and swaps once.
 */
export type EntriesPublication = {
  /** true: these are all there are. */
  readonly whole: boolean;
  readonly packed: SharedArrayBuffer | null;
  readonly count: number;
  readonly removed: readonly string[];
};

/** What a certificate authority is shown while it checks that a name is ours: over HTTP or in a handshake. */
export type PublishedChallenge =
  /** RFC 8555 8.3: a token, and what is answered to whoever asks for it. */
  | { readonly token: string; readonly keyAuthorization: string }
  /** RFC 8737: a certificate, PEM, for whoever wants to speak nothing but `acme-tls/1` with this name. */
  | { readonly name: string; readonly certificate: string; readonly privateKey: string };

export type Publication = {
  readonly generation: number;
  readonly routes?: EntriesPublication;
  /** Certificates by the names that they are shown for. */
  readonly certificates?: EntriesPublication;
  /** All that are awaited now. */
  readonly challenges?: readonly PublishedChallenge[];
  /** Names that no certificate could be had for, and none is being ordered now: handshakes for them do not wait. */
  readonly uncertified?: readonly string[];
  /** 48 bytes: what session tickets are sealed with. */
  readonly ticketKeys?: Uint8Array;
  readonly settings?: TrafficSettings;
};

/** Everything that a worker starts with. */
export type WholeState = Publication & { readonly settings: TrafficSettings };

export type WorkerStart = {
  /** Names the worker in logs; never used twice in one process. */
  readonly worker: number;
  /** Which column of the ledger it writes; free again when it is gone. */
  readonly slot: number;
  readonly ledger: LedgerBuffers;
  readonly state: WholeState;
  /** Keys the hashes of visitors' addresses; the same in all workers. */
  readonly hashKey: Uint8Array;
};

export type DryRun = { readonly url: string };

export type ToWorker =
  | { readonly kind: 'publish'; readonly publication: Publication }
  | { readonly kind: 'report'; readonly id: number }
  | { readonly kind: 'dry-run'; readonly id: number; readonly request: DryRun }
  /** The ledger lets a target into rotation that was out: requests that wait for one are tried. */
  | { readonly kind: 'verdicts' }
  /** `patient`: somebody else listens on the same port, so a kept connection may wait for one more request. */
  | { readonly kind: 'drain'; readonly patient: boolean };

export type FromWorker =
  | { readonly kind: 'serving'; readonly generation: number }
  /** `refused`, where settings were published: the port that it can't open; null where it has them all. */
  | {
      readonly kind: 'acknowledged';
      readonly generation: number;
      readonly refused?: { readonly code: string; readonly message: string } | null;
    }
  /** `id` null: sent unasked, once a second. */
  | { readonly kind: 'report'; readonly id: number | null; readonly report: TrafficReport }
  | { readonly kind: 'dry-run'; readonly id: number; readonly result: DryRunResult }
  | { readonly kind: 'drained' }
  /** The main thread writes the log: a worker carries no logger of its own. */
  | { readonly kind: 'log'; readonly level: LogLevel; readonly fields: object; readonly message: string }
  /** A target left the rotation after failures in a row, or is back after an answer. */
  | { readonly kind: 'target'; readonly change: TargetChange }
  /** A handshake waits for the first certificate of a name. */
  | { readonly kind: 'awaited'; readonly name: string }
  /** It can't listen: the process says so and ends. */
  | { readonly kind: 'refused'; readonly code: string; readonly message: string };

/** `reason` in words, empty when the target is well; `id` as its source names it. */
export type TargetChange = {
  readonly address: string;
  readonly tls: boolean;
  readonly id?: string;
  /** How it is spoken to, where that is anything in particular. */
  readonly transport?: string;
  readonly healthy: boolean;
  readonly reason: string;
};

/** What a worker counted since its last report. */
export type TrafficReport = {
  readonly domains: readonly DomainReport[];
  /** Tries that failed by their target's own fault; absent where there was none. */
  readonly targets?: readonly TargetFailures[];
  /** What was thrown, by what it ended; absent where nothing was. */
  readonly faults?: readonly (readonly [ended: FaultScope, count: number])[];
};

/** What something that was thrown can end: one exchange, a connection that no exchange was on, or nothing that is known. */
export const FAULT_SCOPES = ['exchange', 'connection', 'nothing'] as const;
export type FaultScope = (typeof FAULT_SCOPES)[number];

export type TargetFailures = {
  readonly address: string;
  readonly tls: boolean;
  readonly id?: string;
  readonly transport?: string;
  readonly count: number;
  /** The last of them: its stable code, the same in words, and when it was (ms since 1970). */
  readonly code: string;
  readonly reason: string;
  readonly at: number;
};

export type DomainReport = {
  /** The host that was asked for: the key of analytics. */
  readonly host: string;
  /** The route's domain, perhaps a wildcard: the metric label. */
  readonly pattern: string;
  readonly requests: number;
  /** Answers by class: 1xx, 2xx, 3xx, 4xx, 5xx, other (499 among them). */
  readonly classes: readonly [number, number, number, number, number, number];
  /** Response bytes to the client, heads and bodies. */
  readonly bytes: number;
  /** Requests by duration, one count per bound of DURATION_BOUNDS and one beyond; and their sum in seconds. */
  readonly durations: readonly number[];
  readonly durationSum: number;
  /** Keyed 53-bit hashes of client addresses, each at most once per report. */
  readonly visitors: readonly number[];
  readonly pages: readonly (readonly [path: string, views: number])[];
  readonly referrers: readonly (readonly [host: string, count: number])[];
  /** Requests that an upstream's failure ended, by its code. */
  readonly failures: readonly (readonly [code: string, count: number])[];
};

/** Upper bounds in seconds of the request duration histogram. */
export const DURATION_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

/** Unrouted requests and refused heads carry this pattern and no host. */
export const UNROUTED = '';

export type DryRunResult = {
  readonly verdict: string;
  readonly routed: boolean;
  readonly matched: string | null;
  readonly block: { readonly path: string | null; readonly index: number } | null;
  readonly policies: readonly { readonly name: string; readonly verdict: string }[];
  /** `address`, `tls`, `id` and `transport` of each target that could be chosen, in the order of the pool. */
  readonly targets: readonly Pick<TargetChange, 'address' | 'tls' | 'id' | 'transport'>[];
};
