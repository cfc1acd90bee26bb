import { type ClientFacts, type Downstream, detachAttempt, Exchange, type LocalEnd, type RequestPath } from './exchange.ts';
import { FAULT_REASON, type Faults } from './faults.ts';
import { resumeAnswer } from './relay.ts';
import type { Responder } from './responder.ts';
import type { Trace } from './tracing/trace.ts';

/** A request that the proxy itself makes, on behalf of a client or on its own. */
export type InternalRequest = {
  readonly method: string;
  /** Origin-form. */
  readonly target: string;
  /** Lower case, without port. */
  readonly host: string;
  readonly hostField: string;
  /** Whole lines, with Host and without those that frame the body. */
  readonly fields: string;
  /** The lines that the proxy adds, such as X-Forwarded-*. */
  readonly forwarding: string;
  /** The client's, for load balancing by address. */
  readonly address: string;
  readonly hops: number;
  readonly port: number;
  /** The local end of the connection of the request that it serves. */
  readonly local: LocalEnd | null;
  readonly secure: boolean;
  readonly body: Buffer | null;
  readonly bindsConnection: boolean;
  /** The Host for the target; absent: the client's. */
  readonly hostOfTarget?: 'hostport' | 'host' | null;
  /**
   * The client's request whose block has the upstream, so that a newer table may have another one for it. Absent: the upstream belongs to a
   * policy, and it stays there.
   */
  readonly routedAs?: Exchange;
  /** Its place in a trace, where its spans are kept. */
  readonly trace?: Trace | null;
};

type OfClient = Pick<InternalRequest, 'host' | 'hostField' | 'address' | 'local' | 'hops' | 'port' | 'secure' | 'bindsConnection'>;

/** What a request that the proxy makes on behalf of a client's has of it. */
export const onBehalfOf = (x: Exchange): OfClient => ({
  host: x.host,
  hostField: x.hostField,
  address: x.client.address,
  local: x.client.facts().connection.local,
  hops: x.hops,
  port: x.port,
  secure: x.secure,
  bindsConnection: x.bindsConnection,
});

/** The head of an answer to an internal exchange. */
export type InternalAnswer = {
  readonly status: number;
  /** Whole lines, without those that frame the body. */
  readonly fields: string;
  /** Bytes of the body, or UNTIL_CLOSE. */
  readonly length: number;
  /** Our cookie that sends the client to the same target again, as a line; empty for none. It is not part of the response. */
  readonly affinityLine: string;
  /** Why the proxy answered instead of an upstream; empty if an upstream did. */
  readonly failure: string;
};

/** Receives the answer to an internal exchange. Nothing is received after `end`, `failed` or `cancel`. */
export interface AnswerSink {
  /** A 1xx head other than 101. */
  informational?(status: number, reason: string, fields: string): void;
  head(answer: InternalAnswer): void;
  /** A piece of the body; its buffer is reused, so copy what you keep. @returns false to pause until `resume` of the exchange. */
  body(buffer: Buffer, from: number, to: number): boolean;
  /** No more of the body is available for now. */
  flush?(): void;
  /** `trailers` are whole lines or empty. */
  end(trailers: string): void;
  /** The answer can't be completed, or not even begun. */
  failed(reason: string): void;
  /** A newer table has another pool for the request, so it is not sent. Absent: it is sent to the same upstream again. */
  moved?(): void;
}

export type InternalTools = {
  readonly faults: Faults;
  /** Milliseconds. */
  monotonic(): number;
};

/**
 * An exchange without a client connection: a responder answers it to a sink. It is neither logged nor counted as a visit; its targets count
 * it like any other request.
 */
export class InternalExchange implements Downstream {
  readonly address: string;
  /** A sink copies what it keeps. */
  readonly unsent = 0;
  private readonly local: LocalEnd | null;
  private readonly x: Exchange;
  private readonly sink: AnswerSink;
  private readonly responder: Responder;
  private readonly tools: InternalTools;
  private over = false;

  constructor(request: InternalRequest, sink: AnswerSink, responder: Responder, tools: InternalTools) {
    const { method, target, host, hostField, fields, forwarding, hops, port, secure, body, address, local } = request;
    this.address = address;
    this.local = local;
    this.sink = sink;
    this.tools = tools;
    const { routedAs = null } = request;
    const path: RequestPath = { serve: () => this.serveAgain(), resume: hasNoPolicies, routedAs: () => routedAs };
    this.responder = responder;
    this.x = new Exchange(this, path, {
      method,
      target,
      host,
      hostField,
      fields,
      forwarding,
      hops,
      port,
      secure,
      bodyLength: body?.length ?? 0,
      expectsContinue: false,
      referer: null,
      userAgent: null,
      fetchDestination: null,
      privacyControl: false,
      prefetch: false,
      bindsConnection: request.bindsConnection,
      upgrade: null,
      strictTransport: false,
      misdirected: false,
      clientRule: null,
      startedAt: tools.monotonic(),
      trace: request.trace ?? null,
    });
    this.x.held = body;
    this.x.hostOfTarget = request.hostOfTarget ?? null;
    this.x.bodyComplete = true;
  }

  /** The last target it was sent to, and why that failed; null before. */
  get endpoint(): Exchange['endpoint'] {
    return this.x.endpoint;
  }

  get lastFailure(): Exchange['lastFailure'] {
    return this.x.lastFailure;
  }

  /** Whether only the end of the connection marks the end of the body. */
  get endsAtClose(): boolean {
    return this.x.answerEndsAtClose;
  }

  /** Sends it; the sink may receive all of the answer before this returns. */
  start(): void {
    try {
      this.responder.respond(this.x);
    } catch (error) {
      this.onFault(error);
    }
  }

  /** It waited for a target, and the table was swapped in the meantime. */
  private serveAgain(): void {
    if (this.sink.moved === undefined) this.responder.respond(this.x);
    else this.sink.moved();
  }

  /** The sink can accept more of the body. */
  resume(): void {
    if (!this.over) resumeAnswer(this.x);
  }

  /** The answer is no longer needed. */
  cancel(): void {
    if (this.over) return;
    this.over = true;
    this.x.cancelTimeLimit?.();
    // It no longer waits for anything, so others need not wait for its result.
    if (this.x.status === 0) this.x.status = 499;
    detachAttempt(this.x)();
  }

  facts(): ClientFacts {
    return {
      connection: { address: this.address, port: null, tls: null, local: this.local },
      protocol: 'HTTP/1.1',
      bodyRead: this.x.bodyLength,
    };
  }

  head(x: Exchange, status: number, _reason: string, fields: string, length: number): void {
    if (this.over) return;
    x.status = status;
    const { affinityLine, failure } = x;
    // It comes last, since it was added to the fields of the upstream.
    const isAdded = affinityLine !== '' && fields.endsWith(affinityLine);
    const own = isAdded ? fields.slice(0, -affinityLine.length) : fields;
    this.sink.head({ status, fields: own, length, affinityLine: isAdded ? affinityLine : '', failure });
  }

  body(buffer: Buffer, from: number, to: number): boolean {
    return this.over || this.sink.body(buffer, from, to);
  }

  end(x: Exchange, trailers: string): void {
    if (this.over) return;
    x.attempt = null;
    // It is over only once the sink has handled it: if that throws, the sink is notified that the answer has failed.
    this.sink.end(trailers);
    this.over = true;
    x.cancelTimeLimit?.();
  }

  abort(): void {
    this.fail('the response was cut off');
  }

  onFault(error: unknown): void {
    this.tools.faults.end(this.x, error, this.x.status !== 0, () => this.fail(FAULT_REASON));
  }

  private fail(reason: string): void {
    if (this.over) return;
    this.over = true;
    this.x.cancelTimeLimit?.();
    try {
      this.sink.failed(reason);
    } catch (error) {
      // Clients that wait for the answer wait for nothing else, so the sink is notified once more.
      this.tools.faults.note('exchange', error);
      this.tools.faults.step(() => this.sink.failed(reason));
    }
  }

  // The request is complete from the beginning, and the answer is passed on as it comes.

  informational(status: number, reason: string, fields: string): void {
    if (!this.over) this.sink.informational?.(status, reason, fields);
  }

  flush(): void {
    if (!this.over) this.sink.flush?.();
  }

  resumeBody(): void {
    // The body was sent whole.
  }

  bufferBody(x: Exchange, then: (x: Exchange) => void): void {
    then(x);
  }

  streamBody(x: Exchange): void {
    x.attempt?.bodyEnd('');
  }

  detach(): null {
    return null;
  }

  reattach(): void {
    throw new Error('an internal exchange is never upgraded');
  }
}

const hasNoPolicies = (): never => {
  throw new Error('an internal exchange has no policies that it could wait for');
};
