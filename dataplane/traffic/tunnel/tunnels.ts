import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createProxyServer, type ProxyServer } from 'http-proxy';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { answer, type OwnAnswer } from '../answer.ts';
import type { Exchange } from '../exchange.ts';
import { requestHead } from '../http1/write.ts';
import type { CompiledRoute } from '../match/compile.ts';
import type { Attempt } from '../upstream/attempt.ts';
import type { Endpoint } from '../upstream/endpoint.ts';
import { FAILURE, type Failure } from '../upstream/failure.ts';
import type { Progress } from '../upstream/retry.ts';
import { readdress } from './answer-fields.ts';
import { connectTo } from './connector.ts';
import { Tunnel } from './tunnel.ts';

/** Room for our own head and the target's (bytes). */
const MAX_HEAD = 65_536;
const NOTHING_SENT: Progress = { written: false, answered: false, reused: false };

const HALF_CLOSED: OwnAnswer = {
  status: 400,
  fields: '',
  body: null,
  reason: 'the client ended its side of a connection that it wants to go on with',
};

export type TunnelTools = {
  readonly clock: Clock;
  /** The route of a domain as it is now. */
  routeOf(domain: string): CompiledRoute | null;
  /** Nothing was sent: another target may be tried. */
  failed(x: Exchange, endpoint: Endpoint, failure: Failure, progress: Progress): void;
  /** The target took the request and did not answer. */
  giveUp(x: Exchange, endpoint: Endpoint, failure: Failure): void;
  /** A target agreed: the request counts from now on. */
  answered(x: Exchange): void;
};

/** Waits for a target's connection. */
class Connecting implements Attempt {
  cancel: () => void = () => undefined;

  body(): boolean {
    return false;
  }

  bodyEnd(): void {
    throw new Error('a request that asks for an upgrade has no body');
  }

  resume(): void {
    // Nothing flows yet.
  }
}

/**
 * Upgraded connections (RFC 9110 7.8), of any protocol. Once the policies have passed a request and its target's
 * connection stands, the client's socket goes to http-proxy. What that reads is the head that we wrote, never the
 * client's; from the target's answer on it passes bytes both ways, for as long as both sides want.
 */
export class Tunnels {
  private readonly tools: TunnelTools;
  private readonly server: Server;
  private readonly proxy: ProxyServer;
  /** By the client's socket. */
  private readonly tunnels = new Map<Duplex, Tunnel>();

  constructor(tools: TunnelTools) {
    this.tools = tools;
    this.server = createServer({ maxHeaderSize: MAX_HEAD, headersTimeout: 0, requestTimeout: 0, keepAliveTimeout: 0 });
    this.server.on('upgrade', (request, socket, head) => this.pass(request, socket, head));
    // Our own head always asks for an upgrade: anything else is a mistake of ours, and goes nowhere.
    this.server.on('request', (_, response) => response.destroy());
    this.server.on('clientError', (_, socket) => socket.destroy());
    this.proxy = createProxyServer({ ws: true, toProxy: true, prependPath: false });
    // It would let pass nothing but WebSockets.
    const passes = (Reflect.get(this.proxy, 'wsPasses') as { name: string }[]).filter(({ name }) => name !== 'checkMethodAndHeader');
    Object.assign(this.proxy, { wsPasses: passes });
    // Errors of a client's socket come here, and its end follows.
    this.proxy.on('error', () => undefined);
    this.proxy.on('proxyReqWs', (outgoing, request, socket) => {
      const tunnel = this.tunnels.get(socket);
      if (tunnel === undefined) return;
      // As it was sent, whatever a URL parser would make of it.
      outgoing.path = request.url ?? '/';
      outgoing.once('upgrade', (reply) => this.answered(tunnel, reply));
      outgoing.once('response', (reply) => {
        this.answered(tunnel, reply);
        // Cut in the middle: the client must see that, too.
        reply.once('aborted', () => tunnel.close());
      });
    });
  }

  /** Begins a tunnel to a target. */
  begin(x: Exchange, endpoint: Endpoint): void {
    const connecting = new Connecting();
    // Before it begins: it may fail at once, and then another attempt takes its place.
    x.attempt = connecting;
    connecting.cancel = connectTo(
      endpoint,
      (upstream) => this.lend(x, endpoint, upstream),
      (failure) => {
        x.attempt = null;
        this.tools.failed(x, endpoint, failure, NOTHING_SENT);
      },
    );
  }

  /** The table has changed: tunnels whose target is no longer one of their route's are ended, after a while. */
  tableChanged(): void {
    for (const tunnel of this.tunnels.values()) {
      if (this.stands(tunnel)) tunnel.pardon();
      else tunnel.condemn();
    }
  }

  private stands({ x, endpoint }: Tunnel): boolean {
    const route = x.route === null ? null : this.tools.routeOf(x.route.domain);
    if (route === null) return false;
    return [route.site, ...route.blocks].some((block) => block?.pool?.keeps(endpoint) === true);
  }

  private lend(x: Exchange, endpoint: Endpoint, upstream: Socket): void {
    const lent = x.client.lend(x);
    if (lent === null) {
      upstream.destroy();
      x.attempt = null;
      return answer(x, HALF_CLOSED);
    }
    const { socket, early } = lent;
    const tunnel = new Tunnel(x, endpoint, socket, upstream);
    x.attempt = tunnel;
    this.tunnels.set(socket, tunnel);
    socket.once('close', () => this.tunnels.delete(socket));
    // Its error is told by http-proxy while that listens, and by its end afterwards.
    upstream.on('error', () => upstream.destroy());
    upstream.once('close', () => {
      if (tunnel.open) socket.destroySoon();
    });
    const head = Buffer.from(upgradeHead(x), 'latin1');
    socket.unshift(early === null ? head : Buffer.concat([head, early]));
    this.server.emit('connection', socket);
    socket.resume();
  }

  private pass(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const tunnel = this.tunnels.get(socket);
    if (tunnel === undefined) return void socket.destroy();
    const { host, port } = tunnel.endpoint;
    const target = { host, port, protocol: 'http:' };
    // The rest of the head's limit, and no other connection than the one that stands.
    const options = { target, agent: tunnel.agent, ssl: { maxHeaderSize: MAX_HEAD } };
    this.proxy.ws(request, tunnel.client, head, options, (error) => this.unanswered(tunnel, error));
  }

  private answered(tunnel: Tunnel, reply: IncomingMessage): void {
    const { x } = tunnel;
    tunnel.answered(reply);
    readdress(reply, x.block?.fields ?? null, x.client.secure);
    if (tunnel.open) this.tools.answered(x);
  }

  private unanswered(tunnel: Tunnel, error: NodeJS.ErrnoException): void {
    const { x, endpoint } = tunnel;
    if (x.status !== 0) return tunnel.close();
    const malformed = error.code?.startsWith('HPE_') === true;
    const failure = tunnel.late ? FAILURE.headTimeout : malformed ? FAILURE.malformed : FAILURE.closed;
    tunnel.cancel();
    x.attempt = null;
    endpoint.blame(failure);
    this.tools.giveUp(x, endpoint, failure);
  }
}

/** The head that goes to http-proxy: as for every other request, and with the wish that is forwarded. */
function upgradeHead(x: Exchange): string {
  return requestHead(x).replace(/\r\n$/, `Connection: Upgrade\r\nUpgrade: ${x.upgrade}\r\n\r\n`);
}
