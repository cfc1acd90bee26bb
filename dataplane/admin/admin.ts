import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import express, { type ErrorRequestHandler } from 'express';
import { authorized, CHALLENGE } from '../../shared/api/bearer-token.ts';
import { ConnectionRoom } from '../../shared/api/connection-room.ts';
import { foreignRequest, type KnownBy, onSocket, onThisMachine } from '../../shared/api/foreign-request.ts';
import { oneByOne } from '../../shared/api/one-by-one.ts';
import { TOKEN_VARIABLE } from '../../shared/name.ts';
import { published } from '../../shared/route.ts';
import { type LateOutcomes, openLate } from '../../shared/runtime/http/late-socket.ts';
import { createServer } from '../../shared/runtime/http/node-http.ts';
import { listenUnix } from '../../shared/runtime/http/unix-socket.ts';
import type { Random } from '../../shared/runtime/random.ts';
import { ControllerStreams } from './apply/controller-streams.ts';
import { Reload } from './apply/reload.ts';
import type { AdminDependencies } from './dependencies.ts';
import { isExtension, isOpen, matchEndpoint, PROBES, VIEWABLE } from './endpoints/endpoints.ts';
import { createHandlers, type Handlers } from './endpoints/handlers.ts';
import { ApiError } from './http/errors.ts';
import { sendError } from './http/json.ts';
import { createRateLimit, EXTENSION_LIMIT, PUBLISHED_LIMIT, type RateLimit } from './http/rate-limit.ts';
import { endWith, headOfUnknownMethod, type ParseError, type RequestHead, refuseBytes } from './http/unreadable.ts';
import type { OwnCertificate } from './own-certificate.ts';
import { requireTls } from './require-tls.ts';

/** Maximum number of concurrent connections per listener. */
const MAX_CONNECTIONS = 512;
/** How long a request's header section may take to arrive (ms). */
const HEAD_MS = 10_000;
/** How long an idle connection is kept open for its next request (ms). */
const KEEP_ALIVE_MS = 5_000;
/** How long a whole request to the probe listener may take to arrive (ms). */
const PROBE_MS = 10_000;
/** How long closing waits for responses that have not begun (ms). */
const ANSWER_MS = 500;
/** A connection that is silent for this long (ms) is closed; streams send blank lines more often. */
const IDLE_MS = 65_000;

/** Whether requests need the token, and which names `Host` may contain. */
type Transport = { readonly needsToken: boolean; readonly known: KnownBy };
type OpenServer = { readonly server: Server; readonly room: ConnectionRoom };

/** The published Admin API on its transports, and the probe listener. */
export class Admin {
  private readonly parts: AdminDependencies;
  private readonly streams: ControllerStreams;
  private readonly reload: Reload;
  private readonly handlers: Handlers;
  private readonly admitPublished: RateLimit;
  private readonly admitExtension: RateLimit;
  private readonly opened: OpenServer[] = [];
  private stopLate: () => Promise<void> = () => Promise.resolve();

  constructor(parts: AdminDependencies, random: Random) {
    this.parts = parts;
    this.streams = new ControllerStreams(parts.events, random, parts.clock, parts.targetReports);
    this.reload = new Reload(parts.clock, this.streams, parts.events, parts.reloaded);
    this.handlers = createHandlers(parts, this.streams, this.reload);
    this.admitPublished = createRateLimit(parts.clock, PUBLISHED_LIMIT);
    this.admitExtension = createRateLimit(parts.clock, EXTENSION_LIMIT);
    parts.table.onChange((change) => {
      for (const { domain, controller, change: kind, route } of change.overwritten)
        this.streams.send(controller, { routes: { domain, change: kind, route: route && published(route) } });
      const { generation, added, changed, removed } = change;
      const restored = new Set(change.overwritten.map(({ domain }) => domain));
      for (const domain of removed) if (!restored.has(domain)) this.offer(domain);
      if (added.length + changed.length + removed.length > 0)
        parts.events.emit({ kind: 'routes', generation, added: [...added], changed: [...changed], removed: [...removed] });
    });
    parts.events.subscribe((event) => {
      if (event.kind !== 'upstream') return;
      const { kind: _, ...upstream } = event;
      this.streams.broadcast({ upstream });
    });
    if (!parts.token) parts.log.warn(`${TOKEN_VARIABLE} is not set: every authenticated request over TCP will be rejected`);
  }

  /** A domain is free: another controller may have a route for it that was refused, and would send it again only after half a minute. */
  private offer(domain: string): void {
    const { table } = this.parts;
    for (const { id } of table.controllers())
      if (table.refusalOf(id, domain)?.result === 'conflicted')
        this.streams.send(id, { routes: { domain, change: 'removed', route: null } });
  }

  /** Opens the TCP transport, with TLS if a certificate is given. @returns the address it listens on. @throws the system's error. */
  async listenTcp(host: string, port: number, certificate: OwnCertificate | null = null): Promise<AddressInfo> {
    const known = certificate === null ? onThisMachine([host.toLowerCase()]) : coveredBy(certificate);
    const { server, room } = this.serve({ needsToken: true, known });
    if (certificate !== null) requireTls(server, room, () => certificate.context);
    await once(server.listen(port, host), 'listening');
    return server.address() as AddressInfo;
  }

  /** Opens the Unix socket, mode 0600. @throws UnusableSocketError or the system's error. */
  async listenSocket(path: string): Promise<void> {
    const opened = this.serve({ needsToken: false, known: onSocket });
    try {
      await listenUnix(opened.server, path);
    } catch (error) {
      this.opened.splice(this.opened.indexOf(opened), 1);
      // What watches its connections ends with this, although it never listened.
      opened.server.close();
      throw error;
    }
  }

  /** Like `listenSocket`, but tries again until it works, for a directory that can't be written yet. */
  async listenSocketLate(path: string, said: LateOutcomes): Promise<void> {
    this.stopLate = await openLate(this.parts.clock, () => this.listenSocket(path), said);
  }

  /** Opens the probe listener: /health, /ready and /metrics, without a token and without counting against the limit. */
  async listenProbe(host: string, port: number): Promise<AddressInfo> {
    const server = this.open(this.probes(), PROBE_MS).server;
    await once(server.listen(port, host), 'listening');
    return server.address() as AddressInfo;
  }

  /** Asks the controllers to re-read their config files, as POST /reload does. */
  requestReload(): void {
    try {
      void this.reload.trigger();
    } catch (error) {
      this.parts.log.warn({ reason: error instanceof Error ? error.message : String(error) }, 'could not start a reload');
    }
  }

  /** Closes all listeners, and their connections when requests that wait for a response have it. It can listen again afterwards. */
  async close(): Promise<void> {
    this.streams.closeAll();
    await this.stopLate();
    await Promise.all(
      this.opened.map(async ({ server, room }) => {
        const closed = new Promise((resolve) => server.close(resolve));
        await room.drain(ANSWER_MS);
        server.closeAllConnections();
        await closed;
      }),
    );
    this.opened.length = 0;
  }

  private serve(transport: Transport): OpenServer {
    const app = express();
    for (const setting of ['etag', 'x-powered-by']) app.disable(setting);
    // An apply stream is a single request that lasts as long as its controller, so only idleness ends it.
    const opened = this.open(app, 0);
    app.use((request, response) => this.answer(request, response, transport, opened.room));
    app.use(answerError(this.parts));
    opened.server.off('clientError', refuseBytes).on('clientError', (error, socket: Socket) => this.refuse(error, socket, transport));
    return opened;
  }

  /** Checks in this order: open endpoints, origin, token, limit, path, method. The handler then reads the body. */
  private async answer(request: IncomingMessage, response: ServerResponse, transport: Transport, room: ConnectionRoom): Promise<void> {
    const { path, query } = targetOf(request);
    const method = request.method ?? '';
    let viewing = false;
    if (!isOpen(method, path)) {
      viewing = this.admit(request, path, transport);
      room.hold(request.socket, response);
    }
    const { endpoint, segments } = endpointOf(method, path);
    if (viewing && !VIEWABLE.has(endpoint.handler)) throw new ApiError('viewOnly');
    await this.handlers[endpoint.handler]({ request, response, segments, query });
  }

  /** @returns whether the request has the view token. @throws ApiError if it is not admitted. */
  private admit(request: RequestHead, path: string, { needsToken, known }: Transport): boolean {
    const foreign = foreignRequest(request, known);
    if (foreign !== null) throw new ApiError('foreign', foreign);
    const { authorization } = request.headers;
    const viewing = needsToken && !authorized(authorization, this.parts.token);
    if (viewing && !authorized(authorization, this.parts.viewToken))
      throw new ApiError('unauthorized', '', { headers: { 'www-authenticate': CHALLENGE } });
    const wait = isExtension(path) ? this.admitExtension(viewing) : this.admitPublished(viewing);
    if (wait > 0) throw new ApiError('rateLimit', '', { headers: { 'retry-after': `${wait}` } });
    return viewing;
  }

  /** A method that Node's parser does not know is a wrong one: the request is checked as others, and answered with what is found first. */
  private refuse(error: ParseError, socket: Socket, transport: Transport): void {
    const request = headOfUnknownMethod(error);
    if (request === null) return refuseBytes(error, socket);
    try {
      const { path } = targetOf(request);
      this.admit(request, path, transport);
      endpointOf(request.method ?? '', path);
    } catch (reason) {
      if (!(reason instanceof ApiError)) throw reason;
      return endWith(error, socket, reason.status, reason.body, reason.headers);
    }
    refuseBytes(error, socket);
  }

  private probes(): RequestListener {
    const app = express();
    for (const setting of ['etag', 'x-powered-by']) app.disable(setting);
    app.use(async (request, response) => {
      const { path, query } = targetOf(request);
      const match = matched(request.method ?? '', path);
      if (match.kind !== 'endpoint' || !PROBES.has(match.endpoint.handler)) throw new ApiError('notFound');
      await this.handlers[match.endpoint.handler]({ request, response, segments: [], query });
    });
    app.use(answerError(this.parts));
    return app;
  }

  /** `wholeMs`: how long a whole request may take to arrive; 0 means no limit. */
  private open(application: RequestListener, wholeMs: number): OpenServer {
    const respond = oneByOne((request, response) =>
      lacksHost(request) ? refuseBytes(null, request.socket) : application(request, response),
    );
    const server = createServer(
      {
        requestTimeout: wholeMs,
        headersTimeout: HEAD_MS,
        keepAliveTimeout: KEEP_ALIVE_MS,
        connectionsCheckingInterval: 5_000,
        requireHostHeader: false,
      },
      respond,
    );
    server.setTimeout(IDLE_MS);
    server.on('clientError', refuseBytes);
    // Otherwise Node closes the connection without a response. It no longer handles what happens on the connection.
    server.on('connect', (_, socket: Socket) => refuseBytes(null, socket.on('error', () => socket.destroy()).resume()));
    // Otherwise Node responds without saying why. An expectation that isn't met may be ignored (RFC 9110 10.1.1).
    server.on('checkExpectation', respond);
    // A connection that could not be accepted must not end the process; a failure to listen is thrown to the caller.
    server.on('error', (error) => {
      if (server.listening) this.parts.log.warn({ error: error.message }, 'the Admin API could not accept a connection');
    });
    // The header section is checked first; the handler then reads the body.
    server.on('checkContinue', respond);
    const opened = { server, room: new ConnectionRoom(server, this.parts.clock, MAX_CONNECTIONS) };
    this.opened.push(opened);
    return opened;
  }
}

/** A TLS client has verified a name, so `Host` may only be a name or address from the certificate. */
const coveredBy = (certificate: OwnCertificate): KnownBy => ({
  knows: (host) => certificate.isFor(host),
  otherName: 'Host is neither a name nor an address of the certificate',
});

/** A request target in absolute form includes the origin (RFC 9112 3.2.2). */
const ORIGIN = /^https?:\/\/[^/?]*/i;

function targetOf(request: RequestHead): { path: string; query: URLSearchParams } {
  const target = (request.url ?? '/').replace(ORIGIN, '');
  const question = target.indexOf('?');
  return question < 0
    ? { path: target, query: new URLSearchParams() }
    : { path: target.slice(0, question), query: new URLSearchParams(target.slice(question + 1)) };
}

function matched(method: string, path: string): ReturnType<typeof matchEndpoint> {
  try {
    return matchEndpoint(method, path);
  } catch (error) {
    if (error instanceof URIError) throw new ApiError('invalidPath', 'malformed percent-escape');
    throw error;
  }
}

/** @throws ApiError if there is none. */
function endpointOf(method: string, path: string): Extract<ReturnType<typeof matchEndpoint>, { kind: 'endpoint' }> {
  const match = matched(method, path);
  if (match.kind === 'unknown') throw new ApiError('notFound');
  if (match.kind === 'wrong method') throw new ApiError('wrongMethod', '', { headers: { allow: match.allow.join(', ') } });
  return match;
}

/** Sends an ApiError unchanged, and any other error as a 500 without details. */
function answerError({ log, clock }: AdminDependencies): ErrorRequestHandler {
  return (error: unknown, request, response, _next) => {
    if (!(error instanceof ApiError))
      log.error(
        { path: request.path, error: error instanceof Error ? (error.stack ?? error.message) : String(error) },
        'an Admin API request failed',
      );
    const known = error instanceof ApiError ? error : new ApiError('serialize', 'see the log');
    if (response.headersSent || response.destroyed) return void response.destroy();
    sendError(request, response, clock, known);
  };
}

/** Node would reject such a request without a reason (RFC 9112 3.2). */
const lacksHost = ({ headers, httpVersion }: IncomingMessage): boolean => headers.host === undefined && httpVersion !== '1.0';
