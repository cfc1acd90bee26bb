import type { ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { AnswerFields } from './answer-fields.ts';
import type { Attempt, Progress } from './attempt.ts';
import type { Failure } from './failure.ts';
import type { BodyStage, Filter } from './filter.ts';
import type { Limits } from './limits.ts';
import type { OwnAnswer } from './own-answer.ts';

/** Length of a body that ends when its coding says so. */
export const CHUNKED = -1;
/** Length of an answer's body that ends when its connection does. */
export const UNTIL_CLOSE = -1;

/** A piece of a body up to this many bytes is cheaper to copy than to pass on. */
export const SMALL_PIECE = 4_096;

/** The client's side of an exchange, whatever it speaks. Everything that goes back to the visitor goes through here. */
export interface Downstream {
  /** The client's address as text, after trusted proxies have been believed. */
  readonly address: string;
  /** The final head. `fields` are whole lines; `length` in bytes or UNTIL_CLOSE. */
  head(x: Exchange, status: number, reason: string, fields: string, length: number): void;
  /** A 1xx head other than 101. */
  informational(status: number, reason: string, fields: string): void;
  /** A piece of the body, kept while `holding` where it is larger than SMALL_PIECE. @returns false when the client should be given time; `resume` of the attempt follows. */
  body(buffer: Buffer, from: number, to: number): boolean;
  /** Whether a piece of the body has not yet left for the client: its bytes may not be overwritten. */
  readonly holding: boolean;
  /** The answer is whole. `trailers` are whole lines or empty. */
  end(x: Exchange, trailers: string): void;
  /** The answer cannot be completed: the client must see that it was cut. */
  abort(x: Exchange): void;
  /**
   * Something was thrown while its exchange was served: that is counted, its attempt called off, and its client sees 500, or
   * that its answer was cut. Throws nothing.
   */
  broke(error: unknown): void;
  /** Sends what `head` and `body` have gathered; called when nothing more is at hand. */
  flush(): void;
  /** Takes the request's body whole, if it is small and its length known, before `then`. */
  takeBody(x: Exchange, then: (x: Exchange) => void): void;
  /** Hands its side of the connection to a tunnel; null when the client has ended its own. */
  lend(x: Exchange): LentSocket | LentStream | null;
  /** Takes back what was lent: no tunnel came of it, and the exchange is answered like any other. */
  reclaim(x: Exchange): void;
  /** Starts handing the body to the attempt, piece by piece. */
  streamBody(x: Exchange): void;
  /** The attempt can take more of the body. */
  resumeBody(): void;
}

/** A whole connection, paused, with what has been read ahead. */
export type LentSocket = { readonly socket: Socket; readonly early: Buffer | null };
/** One stream of a connection, of which nothing has been read. */
export type LentStream = { readonly stream: ServerHttp2Stream };

/** The way in. What is thrown is the caller's to deal with: `later.ts` does for all who come back to an exchange in a later turn. */
export interface RequestPath {
  /** Serves what has just come, or as if it had: by the newest table, with all of its policies. */
  serve(x: Exchange): void;
  /** A policy has decided at last: null asks those after it. */
  resume(x: Exchange, own: OwnAnswer | null): void;
}

/** The upstream's side of an exchange that is forwarded; see `later.ts`. */
export interface Upstream {
  readonly limits: Limits;
  /** An attempt has failed before the client saw anything of an answer: another target may be tried. */
  failed(x: Exchange, endpoint: NamedEndpoint, failure: Failure, progress: Progress): void;
  /** Tries the targets again for a request that has waited. */
  retry(x: Exchange): void;
  /** Answers for the upstream. */
  giveUp(x: Exchange, failure: Failure): void;
}

/** A target, as it is named in logs. */
export type NamedEndpoint = { readonly address: string };

/** What the whole path knows of a site. */
export type Site = {
  readonly domain: string;
  /** Default and own response headers, for answers that come from no block. */
  readonly fields: AnswerFields;
};

/** What the whole path knows of the block that answers. */
export type Block = {
  readonly fields: AnswerFields;
  /** What answers go through on their way back, the one nearest to the upstream first; null for nothing. */
  readonly filters: readonly Filter[] | null;
};

/** One request and its answer: the only value that travels through the house. */
export class Exchange {
  readonly client: Downstream;
  readonly requestPath: RequestPath;
  readonly method: string;
  /** As the client sent it (origin-form or `*`). */
  readonly target: string;
  /** Lower case, without port and trailing dot. */
  readonly host: string;
  readonly hostField: string;
  /** The client's fields that go on, as lines, Host among them. */
  readonly fields: string;
  /** Bytes, or CHUNKED. */
  readonly bodyLength: number;
  readonly expectsContinue: boolean;
  readonly referer: string | null;
  /** The protocols that the client would go on with; null for an ordinary request. */
  readonly upgrade: string | null;
  /** How often proxies like this one have forwarded it; Infinity where that is not to be told. */
  readonly hops: number;
  /** X-Forwarded-*, X-Request-ID and the count of hops for the upstream, as lines. */
  readonly forwarding: string;
  /** Whether the client came over HTTPS, as far as we or a trusted proxy can tell. */
  readonly secure: boolean;
  /** Whether its browser may be told to come back over HTTPS only (RFC 6797). */
  readonly strictTransport: boolean;
  /** Whether the client was shown a certificate that is not good for this host. */
  readonly misdirected: boolean;
  /** The rule about client certificates that its connection has kept; empty for one without a rule, null where there is no TLS of ours. */
  readonly clientRule: string | null;
  /** Milliseconds on the monotonic clock. */
  readonly startedAt: number;

  route: Site | null = null;
  block: Block | null = null;
  /** The path that blocks and rules look at: decoded, merged, without dot segments and query. */
  path = '';
  /** What judging the path has cost its worker, in units of the run queue; 0 for a path that everybody reads alike. */
  judged = 0;
  /** The target and the fields as the upstream gets them: blocks and policies may change them. */
  upstreamTarget: string;
  upstreamFields: string;

  /** A small body, taken whole; null when it streams or there is none. */
  held: Buffer | null = null;
  /** Whether a byte of a streaming body has gone to an upstream: it cannot be sent again. */
  bodyConsumed = false;
  /** Whether all of the request has been read from the client. */
  bodyComplete = false;
  upstream: Upstream | null = null;
  /** The target that it was sent to last. */
  endpoint: NamedEndpoint | null = null;
  attempt: Attempt | null = null;
  /** What the body of its answer goes through; null for nothing. */
  filtering: BodyStage | null = null;
  lastFailure: Failure | null = null;
  /** Targets that have failed this request. */
  tried: NamedEndpoint[] | null = null;

  /** Whether it has been counted before its end, as an upgrade is. */
  counted = false;
  /** Whether its connection is of no more use to the host: it ends after the answer. */
  endsConnection = false;
  /** 0 until there is an answer. */
  status = 0;
  /** Response bytes to the client, before TLS. */
  bytesSent = 0;
  /** Why the proxy itself answered, for the log; empty when it did not. */
  failure = '';

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
      | 'upgrade'
      | 'hops'
      | 'forwarding'
      | 'secure'
      | 'strictTransport'
      | 'misdirected'
      | 'clientRule'
      | 'startedAt'
    >,
  ) {
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
    this.expectsContinue = request.expectsContinue;
    this.referer = request.referer;
    this.upgrade = request.upgrade;
    this.hops = request.hops;
    this.forwarding = request.forwarding;
    this.secure = request.secure;
    this.strictTransport = request.strictTransport;
    this.misdirected = request.misdirected;
    this.clientRule = request.clientRule;
    this.startedAt = request.startedAt;
  }
}

/** Takes away whatever would still answer an exchange. @returns the way to let go of it, where anything is left. */
export function callOff(x: Exchange): () => void {
  const { attempt, filtering } = x;
  x.attempt = null;
  x.filtering = null;
  return () => {
    attempt?.cancel();
    filtering?.cancel();
  };
}
