import { randomInt } from 'node:crypto';
import type { HandleSpec, RouteSpec } from '../../../../shared/route.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { type AnswerSink, InternalExchange, type InternalTools } from '../../exchange/internal-exchange.ts';
import { resumeLater } from '../../exchange/later.ts';
import type { Responder } from '../../exchange/responder.ts';
import { LATER, type PolicyKind, passes } from '../policy.ts';
import { compileApplies } from '../rewrite/rewriting.ts';

/** Most copies that one worker has under way for one directive. */
const MOST_UNDER_WAY = 128;
/** How long a copy waits for its response to begin, and for each part of it (s). */
const TIMEOUT_SECS = 10;
/** How much of a response is read so that its connection can be used again (bytes). */
const MOST_READ = 1_048_576;

/** `mirror`: copies of requests for another upstream. Nothing waits for them. */
export const mirror: PolicyKind = (route, handle, _, { upstream, internal }) => {
  const spec = handle?.mirror === undefined ? route.mirror : handle.mirror;
  if (!spec || isFixed(route, handle)) return [];
  const limits = { response_header_timeout_secs: TIMEOUT_SECS, read_timeout_secs: TIMEOUT_SECS };
  const copies = new Copies(upstream([spec.upstream], spec.tls, limits), internal);
  const applies = compileApplies(spec.match, route);
  const share = spec.percent === 100 ? 'all requests' : `${spec.percent} % of the requests`;
  return [
    {
      name: 'mirror',
      decide(x) {
        if (x.upgrade !== null || !applies(x) || (spec.percent < 100 && randomInt(100) >= spec.percent)) return null;
        if (x.bodyLength === 0) {
          copies.send(x, null);
          return null;
        }
        return copies.sendWithBody(x) ? null : LATER;
      },
      explain: (x) => (applies(x) ? passes(`${share} are also sent to ${spec.upstream}`) : null),
    },
  ];
};

/** Whether a fixed response answers, so that there is no upstream whose requests could be copied. */
const isFixed = (route: RouteSpec, handle: HandleSpec | null): boolean =>
  (handle === null || (handle.respond === null && handle.upstreams.length === 0) ? route.respond : handle.respond) !== null;

/** The copies that are under way. */
class Copies {
  private readonly server: Responder;
  private readonly tools: InternalTools;
  private underWay = 0;

  constructor(server: Responder, tools: InternalTools) {
    this.server = server;
    this.tools = tools;
  }

  /** Sends a copy once the body has been read, if it is small. @returns whether that is decided; otherwise the exchange is resumed later. */
  sendWithBody(x: Exchange): boolean {
    let isWaiting = false;
    let isRead = false;
    x.client.bufferBody(x, () => {
      isRead = true;
      if (x.held !== null) this.send(x, x.held);
      if (isWaiting) resumeLater(x, null);
    });
    isWaiting = !isRead;
    return isRead;
  }

  send(x: Exchange, held: Buffer | null): void {
    if (this.underWay >= MOST_UNDER_WAY) return;
    this.underWay++;
    const over = (): void => {
      this.underWay--;
    };
    const copy: InternalExchange = new InternalExchange(copyOf(x, held), new Discard(() => copy.cancel(), over), this.server, this.tools);
    copy.start();
  }
}

/** What the upstream gets. The buffer of the body belongs to the original. */
const copyOf = (x: Exchange, held: Buffer | null) => ({
  method: x.upstreamMethod,
  target: x.upstreamTarget,
  host: x.host,
  hostField: x.hostField,
  fields: x.upstreamFields,
  forwarding: x.forwarding,
  address: x.client.address,
  hops: x.hops,
  port: x.port,
  secure: x.secure,
  body: held === null ? null : Buffer.from(held),
  hostOfTarget: x.hostOfTarget,
  trace: x.trace?.aside() ?? null,
});

/** Reads a response to its end, or as much of it as is worth it. */
class Discard implements AnswerSink {
  private readonly cancel: () => void;
  private readonly over: () => void;
  private read = 0;
  private ended = false;

  constructor(cancel: () => void, over: () => void) {
    this.cancel = cancel;
    this.over = over;
  }

  head(): void {
    // Nothing of it is used.
  }

  body(_buffer: Buffer, from: number, to: number): boolean {
    this.read += to - from;
    if (this.read > MOST_READ && !this.ended) {
      this.end();
      this.cancel();
    }
    return true;
  }

  end(): void {
    if (this.ended) return;
    this.ended = true;
    this.over();
  }

  failed(): void {
    this.end();
  }
}
