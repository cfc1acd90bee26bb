import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import type { AdminAddress } from '../../../shared/api/admin-address.ts';
import { AdminUnreachable, authorization, openRequest, UNAUTHORIZED } from '../../../shared/api/admin-client.ts';
import { reasonOf } from '../../../shared/api/connection-failure.ts';
import { ConnectionRoom } from '../../../shared/api/connection-room.ts';
import { foreignRequest, type KnownBy } from '../../../shared/api/foreign-request.ts';
import { NAME } from '../../../shared/name.ts';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import { createServer } from '../../../shared/runtime/http/node-http.ts';
import { type Random, systemRandom } from '../../../shared/runtime/random.ts';
import { isLoopback } from '../../../shared/values/loopback.ts';
import { BrowserPass } from './browser-pass.ts';
import { isForwarded } from './forwarded-paths.ts';

/** Maximum number of concurrent connections; a browser opens six. */
const MAX_CONNECTIONS = 64;
/** How long a request's header section may take to arrive (ms). */
const HEAD_MS = 10_000;
/** A request to the Admin API fails after this time without a byte (ms). Event streams send something every 20 s. */
const SILENCE_MS = 40_000;

export type ForwarderOptions = {
  /** The Admin API. */
  readonly admin: AdminAddress;
  /** Its token; a socket needs none. */
  readonly token: string | undefined;
  /** Port 0: any that is free. */
  readonly listen: { readonly host: string; readonly port: number };
  readonly clock?: Clock;
  readonly random?: Random;
};

export type DashboardForwarder = {
  /** Opens the dashboard in one browser. */
  readonly url: string;
  /** Ends all requests and streams. */
  close(): Promise<void>;
};

/**
 * Serves the dashboard and its data to one browser of this machine: GET requests for what the page shows are sent to the Admin API, with
 * the token if there is one. @throws the system's error if it can't listen.
 */
export async function startForwarder({ admin, token, listen, clock, random }: ForwarderOptions): Promise<DashboardForwarder> {
  const pass = new BrowserPass(random ?? systemRandom);
  const server = createServer({ headersTimeout: HEAD_MS, requestTimeout: HEAD_MS, connectionsCheckingInterval: 5_000 });
  const room = new ConnectionRoom(server, clock ?? systemClock, MAX_CONNECTIONS);
  server.on('request', (request, response) => {
    const path = judge(request, response, pass);
    if (path === null) return;
    room.hold(request.socket, response);
    forward(request, response, { path, admin, token });
  });
  await once(server.listen(listen.port, listen.host), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${shownHost(listen.host)}:${port}${pass.path}${pass.query ?? ''}`,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      room.closeAll();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** A browser can't open the address that stands for all addresses. */
function shownHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

/** Only localhost is certain to lead to this machine: another site's name can resolve to 127.0.0.1. */
const LOOPBACK: KnownBy = { knows: isLoopback, otherName: 'the requested host is neither localhost nor a loopback address (Host)' };
const AGAIN = `Run ${NAME} dashboard again for a new address.`;

/** Usually a tab or a bookmark of an earlier command at the same port. */
const OF_ANOTHER = `Not found: this is not the address of the dashboard that is running. Open the address that ${NAME} dashboard printed.`;

/** @returns the path and query to forward, or null if the request was answered here. */
function judge(request: IncomingMessage, response: ServerResponse, pass: BrowserPass): string | null {
  const foreign = foreignRequest(request, LOOPBACK);
  if (foreign !== null) return refuse(response, 403, `Forbidden: ${foreign}. Paste the address into the address bar of the browser.`);
  if (request.method !== 'GET') return refuse(response, 405, 'The dashboard only reads.', { allow: 'GET' });
  const target = request.url ?? '';
  if (!target.startsWith(pass.path)) return refuse(response, 404, OF_ANOTHER);
  const asked = target.slice(pass.path.length - 1);
  const question = asked.indexOf('?');
  const path = question < 0 ? asked : asked.slice(0, question);
  const isKnown = pass.isIn(request.headers.cookie);
  if (path === '/') return enter(response, isKnown, pass, asked.slice(1));
  if (!isKnown) return refuse(response, 403, `Forbidden: this browser did not open the address that the command printed. ${AGAIN}`);
  return isForwarded(path) ? asked : refuse(response, 404, 'Not found.');
}

/** Exchanges the key for the cookie, and redirects to the page. The browser that has the cookie may open the address again. */
function enter(response: ServerResponse, isKnown: boolean, pass: BrowserPass, query: string): null {
  const cookie = isKnown ? null : pass.exchange(query);
  if (!isKnown && cookie === null)
    return refuse(
      response,
      403,
      `Forbidden: an address works once, and this one was used or is incomplete. ${AGAIN} If you did not use it, end the command that printed it.`,
    );
  const location = `${pass.path}dashboard/`;
  response.writeHead(303, { ...OWN_FIELDS, location, ...(cookie !== null && { 'set-cookie': cookie }) }).end();
  return null;
}

const OWN_FIELDS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;

function refuse(response: ServerResponse, status: number, message: string, fields: Readonly<Record<string, string>> = {}): null {
  const text = `${message}\n`;
  response.writeHead(status, {
    ...OWN_FIELDS,
    ...fields,
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
  return null;
}

type Target = { readonly path: string; readonly admin: AdminAddress; readonly token: string | undefined };

/** Nothing else of the browser's request is sent on, so the Admin API sees a program and not a page. */
const SENT_FIELDS = ['accept', 'accept-encoding', 'if-none-match'] as const;

function forward({ headers }: IncomingMessage, response: ServerResponse, { path, admin, token }: Target): void {
  const sent = SENT_FIELDS.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]]));
  const upstream = openRequest(
    admin,
    { method: 'GET', path, headers: { ...Object.fromEntries(sent), ...authorization(token), connection: 'close' }, timeout: SILENCE_MS },
    (answer) => relay(answer, response, admin),
  );
  upstream.on('timeout', () => upstream.destroy(Object.assign(new Error('no response in time'), { code: 'ETIMEDOUT' })));
  upstream.on('error', (error) => {
    // An interrupted response must not look complete.
    if (response.headersSent || response.destroyed) return void response.destroy();
    unusable(response, admin, reasonOf(error, admin));
  });
  response.once('close', () => upstream.destroy());
  upstream.end();
}

function relay(answer: IncomingMessage, response: ServerResponse, admin: AdminAddress): void {
  if (answer.statusCode === 401) {
    answer.destroy();
    // With a 401 the page would ask for a token, which this command takes from its environment.
    return unusable(response, admin, UNAUTHORIZED);
  }
  response.writeHead(answer.statusCode ?? 502, { ...relayed(answer.headers), 'cross-origin-resource-policy': 'same-origin' });
  // A stream may be silent for a while, but its reader should know at once that it is open.
  response.flushHeaders();
  pipeline(answer, response, (error) => {
    if (error) response.destroy();
  });
}

/** Fields that belong to the connection to the Admin API (RFC 9110 7.6.1), and any that the browser would keep. */
const NOT_RELAYED = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'trailer', 'set-cookie', 'clear-site-data']);

const relayed = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !NOT_RELAYED.has(name)));

function unusable(response: ServerResponse, admin: AdminAddress, reason: string): void {
  const text = JSON.stringify({ error: new AdminUnreachable(admin, reason).message });
  response.writeHead(502, { ...OWN_FIELDS, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(text);
}
