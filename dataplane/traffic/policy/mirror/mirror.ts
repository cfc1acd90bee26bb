import { randomInt } from 'node:crypto';
import type { HandleSpec, RouteSpec } from '../../../../shared/route.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { type AnswerSink, type InternalAnswer, InternalExchange } from '../../exchange/internal-exchange.ts';
import { resumeLater } from '../../exchange/later.ts';
import type { Responder } from '../../exchange/responder.ts';
import type { MirrorResult } from '../../protocol.ts';
import { type KindTools, LATER, type PolicyKind, passes } from '../policy.ts';
import { compileApplies } from '../rewrite/rewriting.ts';

/** Most copies that one worker has under way for one directive. */
const MOST_UNDER_WAY = 128;
/** How long a copy waits for its response to begin, and for each part of it (s). */
const TIMEOUT_SECS = 10;
/** How much of a response is read so that its connection can be used again (bytes). */
const MOST_READ = 1_048_576;

/** `mirror`: copies of requests for another upstream. Nothing waits for them. */
export const mirror: PolicyKind = (route, handle, _, tools) => {
  const spec = handle?.mirror === undefined ? route.mirror : handle.mirror;
  if (!spec || isFixed(route, handle)) return [];
  const limits = { response_header_timeout_secs: TIMEOUT_SECS, read_timeout_secs: TIMEOUT_SECS };
  const copies = new Copies(tools.upstream([spec.upstream], spec.tls, limits), tools, route.domain);
  const applies = compileApplies(spec.match, route);
  const share = spec.percent === 100 ? 'all requests' : `${spec.percent} % of the requests`;
  return [
    {
      name: 'mirror',
      decide(x) {
        if (x.mirrored || x.upgrade !== null || !applies(x)) return null;
        x.mirrored = true;
        if (spec.percent < 100 && randomInt(100) >= spec.percent) return null;
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

type CopyTools = Pick<KindTools, 'internal' | 'mirrored'>;

/** The copies that are under way. */
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

  /** Sends a copy once the body has been read, if it is small. @returns whether that is decided; otherwise the exchange is resumed later. */
  sendWithBody(x: Exchange): boolean {
    let isWaiting = false;
    let isRead = false;
    x.client.bufferBody(x, () => {
      isRead = true;
      if (x.held !== null) this.send(x, x.held);
      else this.count(x.host, 'skipped');
      if (isWaiting) resumeLater(x, null);
    });
    isWaiting = !isRead;
    return isRead;
  }

  send(x: Exchange, held: Buffer | null): void {
    const { host } = x;
    if (this.underWay >= MOST_UNDER_WAY) return this.count(host, 'skipped');
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

/** What the upstream gets. The buffer of the body belongs to the original. */
const copyOf = (x: Exchange, held: Buffer | null) => ({
  method: x.upstreamMethod,
  target: x.upstreamTarget,
  host: x.host,
  hostField: x.hostField,
  fields: x.upstreamFields,
  forwarding: x.forwarding,
  address: x.client.address,
  local: x.client.facts().connection.local,
  hops: x.hops,
  port: x.port,
  secure: x.secure,
  body: held === null ? null : Buffer.from(held),
  hostOfTarget: x.hostOfTarget,
  trace: x.trace?.aside() ?? null,
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
    if (this.read > MOST_READ && !this.ended) {
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
