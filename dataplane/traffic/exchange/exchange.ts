import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { AccessLogSpec } from '../../../shared/values/log-output.ts';
import type { AnswerFields } from './answer-fields.ts';
import type { Attempt, Progress } from './attempt.ts';
import type { ClientIdentity } from './client-identity.ts';
import type { Failure } from './failure.ts';
import type { Filter } from './filter.ts';
import type { Limits } from './limits.ts';
import type { NamedEndpoint } from './named-endpoint.ts';
import type { OwnAnswer } from './own-answer.ts';
import type { ErrorPages } from './pages/error-pages.ts';
import { RareState } from './rare-state.ts';

/** Length of a body whose end is marked by its transfer coding. */
export const CHUNKED = -1;
/** Length of a response's body that ends when its connection closes. */
export const UNTIL_CLOSE = -1;

/** A piece of a body up to this many bytes is cheaper to copy than to pass on. */
export const SMALL_PIECE = 4_096;

/** The local end of a connection, as on a socket; undefined once it is closed. */
export type LocalEnd = { readonly localAddress?: string | undefined };

/** The properties of a client's connection. */
export type ConnectionFacts = {
  /** Its own address, regardless of what proxies report. */
  readonly address: string;
  /** null if a PROXY header named the address without a port. */
  readonly port: number | null;
  /** null without TLS. */
  readonly tls: TlsFacts | null;
  /** Read only where it is needed, because that takes a system call; null for a request that did not arrive over a connection. */
  readonly local: LocalEnd | null;
};

/** What was negotiated in a TLS handshake: version and cipher suite as numbers of the protocol (RFC 8446 4.1.2, B.4), 0 if unknown. */
export type TlsFacts = {
  readonly resumed: boolean;
  readonly version: number;
  readonly cipherSuite: number;
  /** ALPN; empty if none was negotiated. */
  readonly protocol: string;
  /** Empty if the client sent none. */
  readonly serverName: string;
  /** null if the site requires no certificate. */
  readonly client: ClientIdentity | null;
};

/** The fields that are logged about the client's side of an exchange. */
export type ClientFacts = {
  readonly connection: ConnectionFacts;
  readonly protocol: 'HTTP/1.0' | 'HTTP/1.1' | 'HTTP/2.0';
  /** Bytes of the request body that have been read, with the framing of its chunks. */
  readonly bodyRead: number;
};

/** The client's side of an exchange, in any protocol. Everything sent back to the client goes through here. */
export interface Downstream {
  /** The client's address as text, as reported by trusted proxies if there are any. */
  readonly address: string;
  /** For the access log; valid until its next request. */
  facts(): ClientFacts;
  /** The final head. `fields` are whole lines; `length` in bytes or UNTIL_CLOSE. */
  head(x: Exchange, status: number, reason: string, fields: string, length: number): void;
  /** A 1xx head other than 101. */
  informational(status: number, reason: string, fields: string): void;
  /**
   * A piece of the body, kept while it is `unsent` if larger than SMALL_PIECE.
   * @returns false when the sender should pause until `resume`.
   */
  body(buffer: Buffer, from: number, to: number): boolean;
  /**
   * Bytes passed to `body` that have not been sent to the client yet, including those of other data that is sent with them: this many of
   * the last bytes must not be overwritten. 0 if none are kept.
   */
  readonly unsent: number;
  /** The response is complete. `trailers` are whole lines or empty. */
  end(x: Exchange, trailers: string): void;
  /** The response cannot be completed: the client must be able to detect the truncation. */
  abort(x: Exchange): void;
  /**
   * Something was thrown while its exchange was served: counts it and cancels the attempt. The client sees 500, or,
   * once the response has begun, a truncated response. Throws nothing.
   */
  onFault(error: unknown): void;
  /** Sends what `head` and `body` have buffered; called when no more data is available for now. */
  flush(): void;
  /** Reads the whole request body before `then`, if it is small, its length is known, and it has not been read before. */
  bufferBody(x: Exchange, then: (x: Exchange) => void): void;
  /** Hands the connection to a tunnel; null when the client has already ended its side. */
  detach(x: Exchange): DetachedSocket | DetachedStream | null;
  /** Takes the connection back because no tunnel was made; the exchange is answered like any other. */
  reattach(x: Exchange): void;
  /** Starts streaming the body to the attempt. */
  streamBody(x: Exchange): void;
  /** The attempt can accept more of the body. */
  resumeBody(): void;
}

/** A whole connection, paused, with the bytes already read from it. */
export type DetachedSocket = { readonly socket: Socket; readonly early: Buffer | null };
/** One stream of a connection, not yet read from. */
export type DetachedStream = { readonly stream: TunnelStream };

/** A stream of an HTTP/2 connection that a tunnel reads and writes. */
export interface TunnelStream extends Duplex {
  /** Whether the client has ended its side and not reset it since. What it has sent may not have been read yet. */
  readonly hasEnded: boolean;
  /** Accepts the tunnel (RFC 8441 5). `fields` are whole lines. */
  accept(fields: string): void;
  /** Ends it before its time. */
  cancel(): void;
  /** Everything written has been sent; no more bytes from the client are needed. */
  release(): void;
}

/** The request path. The caller handles exceptions; `later.ts` does so for everything that resumes an exchange in a later turn. */
export interface RequestPath {
  /** Serves an exchange from the start, by the newest table and with all of its policies. */
  serve(x: Exchange): void;
  /** A policy that took time has decided; null continues with the policies after it. */
  resume(x: Exchange, own: OwnAnswer | null): void;
  /** The request whose host, path and other facts decide where a newer table routes an exchange; null: it stays with its pool. */
  routedAs(x: Exchange): Exchange | null;
}

/** The upstream's side of an exchange that is forwarded; see `later.ts`. */
export interface Upstream {
  readonly limits: Limits;
  readonly passive: PassiveHealth;
  /** Whether its targets speak HTTP/2. */
  readonly http2: boolean;
  /** An attempt has failed before any of the response was sent, so another target may be tried. */
  failed(x: Exchange, endpoint: NamedEndpoint, failure: Failure, progress: Progress): void;
  /**
   * A final response with this status has arrived. @returns whether its attempt fails with `retriedStatus`, because another target is
   * tried.
   */
  retriesStatus(x: Exchange, endpoint: NamedEndpoint, status: number): boolean;
  /** Tries the targets again for a request that has waited. */
  retry(x: Exchange): void;
  /** Answers in place of the upstream. */
  giveUp(x: Exchange, failure: Failure): void;
}

/** When requests of a site or block take a target out of rotation. */
export type PassiveHealth = {
  /** Failures in a row; 0 is never. */
  readonly fails: number;
  /** For how many seconds. */
  readonly outSecs: number;
  /** Statuses that count as failures. */
  readonly failing: ReadonlySet<number> | null;
  /** The share of failed requests (0 to 1); 0 is none. */
  readonly errorShare: number;
  /** The minimum number of requests by which that share is judged. */
  readonly errorRequests: number;
};

/** What every stage of the request path knows about a site. */
export type Site = {
  readonly domain: string;
  /** Default and own response headers, for responses that come from no block. */
  readonly fields: AnswerFields;
  /** Whether a client's requests do not count as those of people; null if no client is excluded. */
  readonly excluded: ((address: string, path: string) => boolean) | null;
  /** Its own pages for errors; null for none. */
  readonly errorPages: ErrorPages | null;
  /** Whether and where its requests are logged; absent: as all requests are. */
  readonly log?: AccessLogSpec | undefined;
};

/** What every stage of the request path knows about the block that answers. */
export type Block = {
  /** Default and own response headers, for responses of an upstream. */
  readonly fields: AnswerFields;
  /** The same for responses of the proxy itself. */
  readonly ownFields: AnswerFields;
  /** The filters that responses pass through, the one nearest to the upstream first; null for none. */
  readonly filters: readonly Filter[] | null;
  /** Its own pages for errors; null for none. */
  readonly errorPages: ErrorPages | null;
  /** Whether its policies decide about a field of requests, whose name is folded (`foldedName`); null if they decide about none. */
  readonly decidesField: ((folded: string) => boolean) | null;
};

/** One request and its response: the only value that is passed along the whole request path. */
export class Exchange extends RareState {
  readonly client: Downstream;
  readonly requestPath: RequestPath;
  readonly method: string;
  /** As the client sent it (origin-form or `*`). */
  readonly target: string;
  /** Lower case, without port and trailing dot. */
  readonly host: string;
  readonly hostField: string;
  /** The client's fields that are forwarded, as lines, including Host. */
  readonly fields: string;
  /** Bytes, or CHUNKED. */
  readonly bodyLength: number;
  readonly referer: string | null;
  readonly userAgent: string | null;
  /** The browser's destination of the request (Sec-Fetch-Dest). */
  readonly fetchDestination: string | null;
  /** X-Forwarded-*, X-Request-ID and the count of hops for the upstream, as lines. */
  readonly forwarding: string;
  /** The port that its connection arrived at, regardless of what its fields and proxies claim. */
  readonly port: number;
  /** Whether the client uses HTTPS, as seen by us or a trusted proxy. */
  readonly secure: boolean;
  /** Whether Strict-Transport-Security may be sent (RFC 6797). */
  readonly strictTransport: boolean;
  /** The client certificate rule that its connection satisfied; empty if there was no rule, null without TLS of our own. */
  readonly clientRule: string | null;
  /** Milliseconds on the monotonic clock. */
  readonly startedAt: number;

  route: Site | null = null;
  block: Block | null = null;
  /** The path that blocks and rules match: decoded, slashes merged, without dot segments and query. */
  path = '';
  /** The target and fields as sent to the upstream; blocks and policies may change them, and the method. */
  upstreamTarget: string;
  upstreamFields: string;

  /** Whether a byte of a streaming body has been sent to an upstream, which may have processed it: the request cannot be retried. */
  bodyConsumed = false;
  /** Whether all of the request has been read from the client. */
  bodyComplete = false;
  upstream: Upstream | null = null;
  /** The last target it was sent to. */
  endpoint: NamedEndpoint | null = null;
  attempt: Attempt | null = null;

  /** 0 until there is a response. */
  status = 0;
  /** Content-Type of an upstream's response. */
  contentType: string | null = null;
  /** Response bytes to the client, before TLS. */
  bytesSent = 0;
  /** Those of the body, without framing. */
  bodySent = 0;
  /** The fields of the response as lines; empty until there is one. */
  answerFields = '';

  constructor(
    client: Downstream,
    requestPath: RequestPath,
    request: Pick<
      Exchange,
      | 'method'
      | 'target'
      | 'host'
      | 'hostField'
      | 'fields'
      | 'bodyLength'
      | 'expectsContinue'
      | 'referer'
      | 'userAgent'
      | 'fetchDestination'
      | 'privacyControl'
      | 'prefetch'
      | 'bindsConnection'
      | 'upgrade'
      | 'hops'
      | 'forwarding'
      | 'port'
      | 'secure'
      | 'strictTransport'
      | 'misdirected'
      | 'clientRule'
      | 'startedAt'
      | 'trace'
    >,
  ) {
    super();
    this.client = client;
    this.requestPath = requestPath;
    this.method = request.method;
    this.target = request.target;
    this.host = request.host;
    this.hostField = request.hostField;
    this.fields = request.fields;
    this.upstreamTarget = request.target;
    this.upstreamFields = request.fields;
    this.bodyLength = request.bodyLength;
    if (request.expectsContinue) this.own().expectsContinue = true;
    this.referer = request.referer;
    this.userAgent = request.userAgent;
    this.fetchDestination = request.fetchDestination;
    if (request.privacyControl) this.own().privacyControl = true;
    if (request.prefetch) this.own().prefetch = true;
    if (request.bindsConnection) this.own().bindsConnection = true;
    if (request.upgrade !== null) this.own().upgrade = request.upgrade;
    if (request.hops !== 0) this.own().hops = request.hops;
    this.forwarding = request.forwarding;
    this.port = request.port;
    this.secure = request.secure;
    this.strictTransport = request.strictTransport;
    if (request.misdirected) this.own().misdirected = true;
    this.clientRule = request.clientRule;
    this.startedAt = request.startedAt;
    if (request.trace !== null) this.own().trace = request.trace;
  }

  /** Forgets what an earlier table has decided about it, before a newer one does. */
  startOver(): void {
    this.route = null;
    this.block = null;
    this.endpoint = null;
    this.forgetDecisions();
  }

  /** The method as sent to the upstream. */
  get upstreamMethod(): string {
    return this.rare.upstreamMethod ?? this.method;
  }
  set upstreamMethod(method: string) {
    if (method !== this.upstreamMethod) this.own().upstreamMethod = method;
  }
}

/** Detaches everything that could still answer an exchange. @returns a function that cancels what was detached. */
export function detachAttempt(x: Exchange): () => void {
  const { attempt, filtering } = x;
  x.attempt = null;
  x.filtering = null;
  return () => {
    attempt?.cancel();
    filtering?.cancel();
  };
}

/** Lets every target be tried again. */
export function forgetTried(x: Exchange): void {
  x.tried = null;
  x.refusals = 0;
}
