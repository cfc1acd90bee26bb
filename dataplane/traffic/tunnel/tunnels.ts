import type { ClientRequest, IncomingMessage, Server } from 'node:http';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ProxyServer } from 'http-proxy';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { createServer } from '../../../shared/runtime/http/node-http.ts';
import { TurnoverMap } from '../../../shared/runtime/turnover-map.ts';
import type { ResponseHead } from '../codec/http1/response-head.ts';
import { answer } from '../exchange/answer.ts';
import { NOTHING_SENT } from '../exchange/attempt.ts';
import type { DetachedSocket, Exchange, TunnelStream } from '../exchange/exchange.ts';
import { FAILURE, type Failure } from '../exchange/failure.ts';
import { guard, guarded } from '../exchange/faults.ts';
import { attemptFailed, giveUpLater } from '../exchange/later.ts';
import { MAX_INTERIM } from '../exchange/limits.ts';
import type { OwnAnswer } from '../exchange/own-answer.ts';
import { relayInterim } from '../exchange/relay.ts';
import { blameForUpgrade } from '../upstream/health/verdict.ts';
import type { Pool } from '../upstream/pool/pool.ts';
import { requestHead } from '../upstream/request-text.ts';
import type { Endpoint } from '../upstream/target/endpoint.ts';
import { limitsFor } from '../upstream/target/limits.ts';
import { DeclinedUpgrade } from './declined.ts';
import { acceptsUpgrade, byName, type NodeResponseHead, replyHead, switchingFields } from './reply-head.ts';
import { relay } from './socket-relay.ts';
import { Tunnel } from './tunnel.ts';
import { TunnelConnections, type TunnelConnectionTools } from './tunnel-connections.ts';
import { acceptOnStream, acceptsKey, sendHead } from './websocket.ts';

/** Room for our own head (bytes). */
const MAX_HEAD = 65_536;
/** Bytes of the empty line at the end of a head. */
const CRLF = 2;

const require = createRequire(import.meta.url);

const HALF_CLOSED: OwnAnswer = {
  status: 400,
  fields: '',
  body: null,
  reason: 'the client ended its side of a connection that it wants to upgrade',
};

export type TunnelTools = {
  readonly clock: Clock;
  /** A target accepted the upgrade; the request is counted now. */
  answered(x: Exchange): void;
};

/** Runs after an accepted upgrade; `early` are the first bytes after the head. */
type OnAccepted = (head: ResponseHead, reply: IncomingMessage, socket: Socket, early: NonSharedBuffer) => void;

/**
 * Upgraded connections (RFC 9110 7.8), of any protocol. Once the policies have allowed a request and the connection to its
 * target is established, the client's socket is handed to http-proxy. http-proxy reads a head that we
 * wrote, never the client's. After the target's response, bytes are relayed in both directions until one side ends.
 */
export class Tunnels {
  private readonly tools: TunnelTools;
  private readonly server: Server;
  /** Made for the first tunnel, since many workers never have one. */
  private proxy: ProxyServer | null = null;
  private readonly connections = new WeakMap<Endpoint, TunnelConnections>();
  /** By the client's socket. */
  private readonly tunnels = new TurnoverMap<Duplex, Tunnel>();

  constructor(tools: TunnelTools) {
    this.tools = tools;
    this.server = createServer({ maxHeaderSize: MAX_HEAD, headersTimeout: 0, requestTimeout: 0, keepAliveTimeout: 0 });
    this.server.on('upgrade', (request, socket, head) => inTunnel(this.tunnels, socket, (tunnel) => this.pass(tunnel, request, head)));
    // Our own head always requests an upgrade; anything else is a bug of ours and is not forwarded.
    this.server.on('request', (_, response) => response.destroy());
    this.server.on('clientError', (_, socket) => socket.destroy());
  }

  private createProxy(): ProxyServer {
    const { createProxyServer }: typeof import('http-proxy') = require('http-proxy');
    const proxy = createProxyServer({ ws: true, toProxy: true, prependPath: false });
    // This check would allow WebSockets only.
    const passes = (Reflect.get(proxy, 'wsPasses') as { name: string }[]).filter(({ name }) => name !== 'checkMethodAndHeader');
    Object.assign(proxy, { wsPasses: passes });
    // Errors of a client's socket are reported here; its close event follows.
    proxy.on('error', () => undefined);
    proxy.on('proxyReqWs', (outgoing, request, socket) =>
      inTunnel(this.tunnels, socket, (tunnel) => {
        // As it was sent, without going through a URL parser.
        outgoing.path = request.url ?? '/';
        tunnel.request = outgoing;
      }),
    );
    return proxy;
  }

  /** Starts a tunnel to a target. */
  begin(x: Exchange, endpoint: Endpoint): void {
    let connections = this.connections.get(endpoint);
    if (connections === undefined) {
      connections = new TunnelConnections(endpoint, this.connectionTools);
      this.connections.set(endpoint, connections);
    }
    connections.begin(x);
  }

  private readonly connectionTools: TunnelConnectionTools = {
    established: (x, endpoint, upstream) => {
      const onFault = (error: unknown): void => {
        upstream.destroy();
        x.client.onFault(error);
      };
      guarded({ onFault }, () => this.start(x, endpoint, upstream))();
      endpoint.tools.connected(endpoint);
    },
    failed: (x, endpoint, failure) => attemptFailed(x, endpoint, failure, NOTHING_SENT),
  };

  /** The table has been swapped: tunnels whose target no longer belongs to their route are ended after a while. */
  tableChanged(poolsOf: (domain: string, address: string) => Iterable<Pool>): void {
    const check = (tunnel: Tunnel): void => {
      if (isStillRouted(tunnel, poolsOf)) tunnel.cancelClose();
      else tunnel.closeLater();
    };
    for (const tunnel of this.tunnels.values()) guarded(tunnel, check)(tunnel);
  }

  /** Called periodically. */
  sweep(): void {
    for (const tunnel of this.tunnels.values()) guard(tunnel, tunnel.sweep);
  }

  private start(x: Exchange, endpoint: Endpoint, upstream: Socket): void {
    const detached = x.client.detach(x);
    x.trace?.spans?.sent();
    if (detached === null) {
      upstream.destroy();
      x.attempt = null;
      return answer(x, HALF_CLOSED);
    }
    // The current user of the socket handles its error; after that its close event suffices.
    upstream.on('error', () => upstream.destroy());
    if ('stream' in detached) this.overStream(x, endpoint, detached.stream, upstream);
    else this.overSocket(x, endpoint, detached, upstream);
  }

  private track(tunnel: Tunnel, client: Duplex): void {
    tunnel.x.attempt = tunnel;
    this.tunnels.set(client, tunnel);
    const { upstream } = tunnel;
    const closed = (): void => {
      if (client.destroyed && upstream.destroyed) this.tunnels.delete(client);
    };
    client.once('close', closed);
    upstream.once('close', closed);
  }

  /** An HTTP/2 stream is not a socket: we send the request ourselves and relay bytes between the stream and the target's connection. */
  private overStream(x: Exchange, endpoint: Endpoint, stream: TunnelStream, upstream: Socket): void {
    const tunnel = new Tunnel(
      x,
      endpoint,
      { socket: null, side: stream, hasEnded: () => stream.hasEnded, end: () => stream.cancel() },
      upstream,
    );
    this.track(tunnel, stream);
    tunnel.request = sendHead(upgradeHead(x), tunnel.agent, { maxHeaderSize: limitsFor(x).head.bytes });
    this.await(tunnel, tunnel.request, (head, _reply, socket, early) => acceptOnStream(x, stream, head, socket, early));
  }

  private overSocket(x: Exchange, endpoint: Endpoint, { socket, early }: DetachedSocket, upstream: Socket): void {
    const tunnel = new Tunnel(
      x,
      endpoint,
      { socket, side: socket, hasEnded: () => upstream.writableEnded, end: () => socket.destroySoon() },
      upstream,
    );
    this.track(tunnel, socket);
    upstream.once('close', () => {
      if (tunnel.open) socket.destroySoon();
    });
    const head = Buffer.from(upgradeHead(x), 'latin1');
    socket.unshift(early === null ? head : Buffer.concat([head, early]));
    this.server.emit('connection', socket);
    socket.resume();
  }

  private pass(tunnel: Tunnel, request: IncomingMessage, head: Buffer): void {
    const client = tunnel.client.socket;
    if (client === null) return tunnel.close();
    const { host, port, path } = tunnel.endpoint;
    // The address no longer matters, since the connection is established.
    const target = { ...(path === null ? { host, port } : { host: 'localhost', port: 80 }), protocol: 'http:' };
    // The other options limit the head of the response and reuse the established connection.
    const options = { target, agent: tunnel.agent, ssl: { maxHeaderSize: limitsFor(tunnel.x).head.bytes } };
    Object.assign(request, { headers: byName(request.rawHeaders) });
    // http-proxy writes the head of a 101 as text.
    client.setDefaultEncoding('latin1');
    this.proxy ??= this.createProxy();
    this.proxy.ws(request, client, head, options, () => tunnel.close());
    if (tunnel.request !== null) this.handleOtherResponses(tunnel, tunnel.request);
  }

  /** Leaves only a 101 to http-proxy, which would buffer any other response without limit for a client that does not read. */
  private handleOtherResponses(tunnel: Tunnel, outgoing: ClientRequest): void {
    const { x } = tunnel;
    const onAccepted = outgoing.listeners('upgrade');
    this.await(tunnel, outgoing, (head, reply, socket, early) => {
      Object.assign(reply, { headers: switchingFields(head, x) });
      for (const listener of onAccepted) listener.call(outgoing, reply, socket, early);
      const client = tunnel.client.socket;
      if (client !== null) relay(client.unpipe(socket), socket.unpipe(client), tunnel);
    });
  }

  /** `onAccepted` is called when the upgrade is accepted. */
  private await(tunnel: Tunnel, outgoing: ClientRequest, onAccepted: OnAccepted): void {
    for (const event of ['upgrade', 'response', 'error']) outgoing.removeAllListeners(event);
    // The library would drop lines beyond its own limit; `replyHead` refuses heads with more than ours.
    outgoing.maxHeadersCount = 0;
    const informed = (interim: NodeResponseHead): void => this.informed(tunnel, interim);
    const accepted = (reply: IncomingMessage, socket: Socket, head: NonSharedBuffer): void => {
      const head101 = this.accepted(tunnel, reply);
      if (head101 === null) return;
      onAccepted(head101, reply, socket, head);
    };
    const declined = (reply: IncomingMessage): void => this.declined(tunnel, reply);
    const failed = (error: NodeJS.ErrnoException): void => {
      this.unanswered(tunnel, tunnel.timedOut ? FAILURE.headTimeout : headFailure(error.code ?? ''));
    };
    outgoing.on('information', guarded(tunnel, informed));
    outgoing.once('upgrade', guarded(tunnel, accepted));
    outgoing.once('response', guarded(tunnel, declined));
    outgoing.on('error', guarded(tunnel, failed));
  }

  private informed(tunnel: Tunnel, interim: NodeResponseHead): void {
    const { x } = tunnel;
    if (x.attempt !== tunnel) return;
    const head = replyHead(interim, limitsFor(x).head, null);
    if (head === null || ++tunnel.interim > MAX_INTERIM) return this.unanswered(tunnel, FAILURE.malformed);
    relayInterim(x, head);
    x.client.flush();
  }

  /** @returns the head of a valid 101, after which bytes are relayed unread. */
  private accepted(tunnel: Tunnel, reply: IncomingMessage): ResponseHead | null {
    const { x } = tunnel;
    // The client has gone or already has a response: anything else read in the same turn is ignored.
    if (x.attempt !== tunnel) return null;
    const head = replyHead(reply, limitsFor(x).head, x.block?.fields ?? null);
    if (head === null || !acceptsUpgrade(head, x.upgrade ?? '') || (tunnel.client.socket === null && !acceptsKey(x, head))) {
      this.unanswered(tunnel, FAILURE.malformed);
      return null;
    }
    tunnel.accepted(head.fields.upgrade ?? '');
    this.tools.answered(x);
    return head;
  }

  private declined(tunnel: Tunnel, reply: IncomingMessage): void {
    if (tunnel.x.attempt !== tunnel) return;
    const head = replyHead(reply, limitsFor(tunnel.x).head, tunnel.x.block?.fields ?? null);
    if (head === null || head.status === 101) return this.unanswered(tunnel, FAILURE.malformed);
    tunnel.answered(head.status);
    new DeclinedUpgrade(tunnel, reply).relay(head);
  }

  private unanswered(tunnel: Tunnel, failure: Failure): void {
    const { x, endpoint } = tunnel;
    if (tunnel.open) return tunnel.close();
    // The client has gone or already has a response.
    if (x.attempt !== tunnel) return;
    tunnel.cancel();
    x.client.reattach(x);
    x.attempt = null;
    x.trace?.spans?.attemptOver(failure);
    blameForUpgrade(x, endpoint, failure);
    giveUpLater(x, failure);
  }
}

/** Acts on the tunnel of a client's socket. */
function inTunnel(tunnels: Pick<TurnoverMap<Duplex, Tunnel>, 'get'>, socket: Duplex, act: (tunnel: Tunnel) => void): void {
  const tunnel = tunnels.get(socket);
  if (tunnel === undefined) socket.destroy();
  else guarded(tunnel, act)(tunnel);
}

function isStillRouted({ x, endpoint }: Tunnel, poolsOf: (domain: string, address: string) => Iterable<Pool>): boolean {
  if (x.route === null) return false;
  for (const pool of poolsOf(x.route.domain, endpoint.address)) if (pool.keeps(endpoint)) return true;
  return false;
}

/** The head for http-proxy: as for every other request, with the upgrade fields added before the empty line. */
function upgradeHead(x: Exchange): string {
  return `${requestHead(x).slice(0, -CRLF)}Connection: Upgrade\r\nUpgrade: ${x.upgrade}\r\n\r\n`;
}

function headFailure(code: string): Failure {
  if (code === 'HPE_HEADER_OVERFLOW') return FAILURE.longHead;
  return code.startsWith('HPE_') ? FAILURE.malformed : FAILURE.closed;
}
