import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { authorized, CHALLENGE } from '../../shared/api/bearer-token.ts';
import { ConnectionRoom } from '../../shared/api/connection-room.ts';
import { foreignRequest, type KnownBy, onSocket, onThisMachine } from '../../shared/api/foreign-request.ts';
import { oneByOne } from '../../shared/api/one-by-one.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { createServer } from '../../shared/runtime/http/node-http.ts';
import { listenUnix } from '../../shared/runtime/http/unix-socket.ts';
import type { Log } from '../../shared/runtime/log/log.ts';
import type { Report } from './report.ts';

export type StatusServer = { readonly address: string; close(): Promise<void> };

const MAX_CONNECTIONS = 100;
/** The delay (ms) before another attempt to open a socket, doubled each time: the state directory may be about to be created. */
const FIRST_RETRY_MS = 250;
/** The longest delay (ms): another process may hold the socket as long as it lives. */
const LAST_RETRY_MS = 5_000;
/** The number of failures in a row after which a warning is logged; fewer are usually resolved by themselves. */
const WARN_AFTER_FAILURES = 6;

type StatusServerTools = {
  readonly host: string;
  readonly port: number;
  /** Paths of Unix sockets with the same pages, for any user with permission to open them. */
  readonly sockets: readonly string[];
  /** Required for /status over TCP. */
  readonly token: string | undefined;
  readonly report: Report;
  /** The text of the metrics. */
  readonly metrics: () => Promise<string>;
  readonly uptimeSecs: () => number;
  readonly clock: Clock;
  readonly log: Log;
};

/** The token for /status, and the hosts of the service. */
type Transport = { readonly needsToken: boolean; readonly known: KnownBy };

/** The controller's own pages: /health, /ready, /metrics, /status. All are read-only. @throws the system's error for the TCP address. */
export async function listenStatus(tools: StatusServerTools): Promise<StatusServer> {
  const { host, port, sockets } = tools;
  const tcp = open(tools, { needsToken: true, known: onThisMachine([host.toLowerCase()]) });
  await once(tcp.listen(port, host), 'listening');
  const stops = sockets.map((path) => keepListening(tools, path));
  const bound = tcp.address();
  return {
    address: `${host.includes(':') ? `[${host}]` : host}:${typeof bound === 'object' && bound ? bound.port : port}`,
    close: async () => {
      await Promise.all([closed(tcp), ...stops.map((stop) => stop())]);
    },
  };
}

function open(tools: StatusServerTools, transport: Transport): Server {
  const server = createServer(
    { headersTimeout: 5_000, requestTimeout: 10_000, keepAliveTimeout: 5_000, connectionsCheckingInterval: 2_000 },
    oneByOne((request, response) => {
      answer(tools, transport, request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
    }),
  );
  server.once('listening', () => void new ConnectionRoom(server, tools.clock, MAX_CONNECTIONS));
  return server;
}

/** Opens a socket as soon as possible. @returns a function that closes it. */
function keepListening(tools: StatusServerTools, path: string): () => Promise<void> {
  const { clock, log } = tools;
  let cancel: () => void = () => undefined;
  let stopped = false;
  let failures = 0;
  const attempt = async (): Promise<Server | null> => {
    const server = open(tools, { needsToken: false, known: onSocket });
    try {
      await listenUnix(server, path);
      return server;
    } catch (error) {
      failures++;
      if (failures === WARN_AFTER_FAILURES)
        log.warn(
          { path, reason: error instanceof Error ? error.message : String(error) },
          'the socket of the status pages cannot be opened yet',
        );
      if (!stopped)
        cancel = clock.after(Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LAST_RETRY_MS), () => {
          current = attempt();
        });
      return null;
    }
  };
  let current = attempt();
  return async () => {
    stopped = true;
    cancel();
    const server = await current;
    cancel();
    if (server !== null) await closed(server);
  };
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

async function answer(tools: StatusServerTools, transport: Transport, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = (request.url ?? '/').split('?')[0] as string;
  const page = PAGES[path];
  if (!page) return json(response, 404, { error: 'not found' });
  if (page.isGuarded && !isAdmitted(tools, transport, request, response)) return;
  if (request.method !== 'GET') {
    response.setHeader('allow', 'GET');
    return json(response, 405, { error: 'method not allowed' });
  }
  await page.answer(tools, response);
}

/** Whether a request may read the configuration; one that may not has been answered. In the order of the Admin API's checks. */
function isAdmitted(
  { token }: StatusServerTools,
  { needsToken, known }: Transport,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  const foreign = foreignRequest(request, known);
  if (foreign !== null) {
    json(response, 403, { error: `forbidden: ${foreign}` });
    return false;
  }
  if (!needsToken || authorized(request.headers.authorization, token)) return true;
  response.setHeader('www-authenticate', CHALLENGE);
  json(response, 401, { error: 'unauthorized' });
  return false;
}

type Page = {
  /** Whether the page reveals the configuration. */
  readonly isGuarded: boolean;
  readonly answer: (tools: StatusServerTools, response: ServerResponse) => void | Promise<void>;
};

const PAGES: Readonly<Record<string, Page>> = {
  '/health': { isGuarded: false, answer: ({ uptimeSecs }, response) => json(response, 200, { status: 'ok', uptime_secs: uptimeSecs() }) },
  '/ready': {
    isGuarded: false,
    answer: ({ report }, response) => {
      const readiness = report.readiness();
      json(response, readiness.ready ? 200 : 503, readiness);
    },
  },
  '/metrics': {
    isGuarded: false,
    answer: async ({ metrics }, response) => {
      const text = await metrics();
      response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text);
    },
  },
  '/status': { isGuarded: true, answer: ({ report }, response) => json(response, 200, report.full()) },
};

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(JSON.stringify(value));
}
