import { randomInt } from 'node:crypto';
import { type MirrorSpec, mirrorsIn } from '../../../../shared/policy/mirror/effective.ts';
import type { HandleSpec, RouteSpec, UpstreamSpec } from '../../../../shared/route.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { type AnswerSink, type InternalAnswer, InternalExchange, onBehalfOf } from '../../exchange/internal-exchange.ts';
import { resumeLater } from '../../exchange/later.ts';
import type { Responder } from '../../exchange/responder.ts';
import type { MirrorResult } from '../../protocol.ts';
import { type KindTools, LATER, type PolicyKind, passes } from '../policy.ts';
import { compileApplies } from '../rewrite/rewriting.ts';

/** The maximum number of copies that one worker has in flight for one directive. */
const MAX_IN_PROGRESS = 128;
/** How long a copy waits for its response to begin, and for each part of it (s). */
const TIMEOUT_SECS = 10;
/** How much of a response is read so that its connection can be used again (bytes). */
const MAX_READ = 1_048_576;

/** `mirror`: copies of requests for other upstreams. Nothing waits for them. */
export const mirror: PolicyKind = (route, handle, _, tools) => {
  const specs = mirrorsIn(route, handle);
  if (specs.length === 0 || isFixed(route, handle)) return [];
  const mirrors = specs.map((spec) => compileMirror(spec, route, tools));
  return [
    {
      name: 'mirror',
      decide(x) {
        if (x.mirrored || x.upgrade !== null) return null;
        const wanted = mirrors.filter(({ applies }) => applies(x));
        if (wanted.length === 0) return null;
        x.mirrored = true;
        const drawn = wanted.filter(({ isDrawn }) => isDrawn()).map(({ copies }) => copies);
        if (drawn.length === 0) return null;
        if (x.bodyLength === 0) {
          for (const copies of drawn) copies.send(x, null);
          return null;
        }
        return sendWithBody(x, drawn) ? null : LATER;
      },
      explain(x) {
        const words = mirrors.flatMap((one) => (one.applies(x) ? [one.words] : []));
        return words.length === 0 ? null : passes(words.join('; '));
      },
    },
  ];
};

type Mirror = {
  readonly applies: (x: Exchange) => boolean;
  /** Whether the request at hand is one of its share. */
  readonly isDrawn: () => boolean;
  readonly copies: Copies;
  readonly words: string;
};

function compileMirror(spec: MirrorSpec<UpstreamSpec>, route: RouteSpec, tools: KindTools): Mirror {
  const { upstreams, tls, transport, match, fraction } = spec;
  const { numerator, denominator } = fraction;
  const limits = { response_header_timeout_secs: TIMEOUT_SECS, read_timeout_secs: TIMEOUT_SECS };
  const pool = tools.pool({ upstreams, tls, transport: { ...transport, ...limits } });
  const part = denominator === 100 ? `${numerator} %` : `${numerator} of ${denominator}`;
  const share = numerator === denominator ? 'all requests' : `${part} of the requests`;
  return {
    applies: compileApplies(match, route),
    isDrawn: () => numerator === denominator || randomInt(denominator) < numerator,
    copies: new Copies(pool, tools, route.domain),
    words: `${share} are also sent to ${upstreams.map(({ address }) => address).join(', ')}`,
  };
}

/** Sends copies once the body has been read, if it is small. @returns whether that is decided; otherwise the exchange is resumed later. */
function sendWithBody(x: Exchange, all: readonly Copies[]): boolean {
  let isWaiting = false;
  let isRead = false;
  x.client.bufferBody(x, () => {
    isRead = true;
    for (const copies of all) copies.sendRead(x);
    if (isWaiting) resumeLater(x, null);
  });
  isWaiting = !isRead;
  return isRead;
}

/** Whether a fixed response answers, so that there is no upstream whose requests could be copied. */
const isFixed = (route: RouteSpec, handle: HandleSpec | null): boolean =>
  (handle === null || (handle.respond === null && handle.upstreams.length === 0) ? route.respond : handle.respond) !== null;

type CopyTools = Pick<KindTools, 'internal' | 'mirrored'>;

/** The copies in flight. */
class Copies {
  private readonly server: Responder;
  private readonly tools: CopyTools;
  /** The domain of the route. */
  private readonly pattern: string;
  private underWay = 0;

  constructor(server: Responder, tools: CopyTools, pattern: string) {
    this.server = server;
    this.tools = tools;
    this.pattern = pattern;
  }

  /** The body has been read, if it is small. */
  sendRead(x: Exchange): void {
    if (x.held !== null) this.send(x, x.held);
    else this.count(x.host, 'skipped');
  }

  send(x: Exchange, held: Buffer | null): void {
    const { host } = x;
    if (this.underWay >= MAX_IN_PROGRESS) return this.count(host, 'skipped');
    this.underWay++;
    const over = (result: MirrorResult): void => {
      this.underWay--;
      this.count(host, result);
    };
    const discard = new Discard(() => copy.cancel(), over);
    const copy: InternalExchange = new InternalExchange(copyOf(x, held), discard, this.server, this.tools.internal);
    copy.start();
  }

  private count(host: string, result: MirrorResult): void {
    this.tools.mirrored({ host, pattern: this.pattern }, result);
  }
}

/** The request for the upstream. The buffer of the body belongs to the original. */
const copyOf = (x: Exchange, held: Buffer | null) => ({
  ...onBehalfOf(x),
  method: x.upstreamMethod,
  target: x.upstreamTarget,
  fields: x.upstreamFields,
  forwarding: x.forwarding,
  body: held === null ? null : Buffer.from(held),
  hostOfTarget: x.hostOfTarget,
  trace: x.trace?.withoutSpans() ?? null,
});

/** Reads a response to its end, or up to a limit. */
class Discard implements AnswerSink {
  private readonly cancel: () => void;
  private readonly over: (result: MirrorResult) => void;
  private read = 0;
  private ended = false;
  private result: MirrorResult = 'failed';

  constructor(cancel: () => void, over: (result: MirrorResult) => void) {
    this.cancel = cancel;
    this.over = over;
  }

  head({ status, failure }: InternalAnswer): void {
    if (failure === '') this.result = resultOf(status);
  }

  body(_buffer: Buffer, from: number, to: number): boolean {
    this.read += to - from;
    if (this.read > MAX_READ && !this.ended) {
      this.end();
      this.cancel();
    }
    return true;
  }

  end(): void {
    if (this.ended) return;
    this.ended = true;
    this.over(this.result);
  }

  failed(): void {
    this.result = 'failed';
    this.end();
  }
}

const resultOf = (status: number): MirrorResult => (status < 300 ? '2xx' : status < 400 ? '3xx' : status < 500 ? '4xx' : '5xx');
