import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders, request as requestHttp1 } from 'node:http';
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2';
import { Agent as TlsAgent } from 'node:https';
import type { Readable, Writable } from 'node:stream';
import type { ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import type { MixedRequest, Protocol } from './mixed-request.ts';

/** How many bytes a client of HTTP/2 accepts before it reads them: as many as usual, and more than most bodies have. */
const WINDOWS = [65_535, 1_000_000];
const WEBSOCKET = { 'sec-websocket-version': '13' };
const UPGRADE = { ...WEBSOCKET, connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
const CONNECT = { ...WEBSOCKET, ':method': 'CONNECT', ':protocol': 'websocket' };

type Answer = { readonly status: number; readonly fields: IncomingHttpHeaders; readonly body: Readable };

/** A request whose head has been sent. */
export type Sent = {
  /** An error if it ends without one. */
  readonly answer: Promise<Answer | Error>;
  /** Takes its body; that of a tunnel only after the answer. */
  upload(): Writable;
  /** Ends it before it is complete. */
  leave(): void;
};

type Connection = { destroy(): unknown; once(event: 'close', then: () => void): unknown };

/** Test support: clients of a proxy for each protocol. They use a connection for many requests. */
export class MixedClients {
  private readonly proxy: ProxyFixture;
  private readonly ca: string;
  private readonly agents: { readonly plain: Agent; readonly tls: Agent };
  private readonly sessions: { readonly plain: ClientHttp2Session[]; readonly tls: ClientHttp2Session[] } = { plain: [], tls: [] };
  /** The connections that no agent has. */
  private readonly open = new Set<Connection>();

  private constructor(proxy: ProxyFixture, ca: string) {
    this.proxy = proxy;
    this.ca = ca;
    this.agents = { plain: this.agent(false), tls: this.agent(true) };
  }

  static async start(proxy: ProxyFixture, ca: string): Promise<MixedClients> {
    const clients = new MixedClients(proxy, ca);
    for (const window of WINDOWS) {
      clients.sessions.plain.push(await clients.connect(false, window));
      clients.sessions.tls.push(await clients.connect(true, window));
    }
    return clients;
  }

  async send(request: MixedRequest, over: Protocol): Promise<Sent> {
    const isTls = over === 'http1-tls' || over === 'http2-tls';
    return over === 'http1' || over === 'http1-tls' ? this.overHttp1(request, isTls) : await this.overHttp2(request, isTls);
  }

  private overHttp1(request: MixedRequest, isTls: boolean): Sent {
    const { kind, path, uploadSize } = request;
    const { port, securePort } = this.proxy;
    const method = uploadSize === null || kind === 'tunnel' ? 'GET' : 'POST';
    const headers = { host: 'a.test', ...fieldsOf(request), ...(kind === 'tunnel' && UPGRADE) };
    const shared = this.agents[isTls ? 'tls' : 'plain'];
    // The proxy may close the connection after an early answer, and a request that is sent on it meanwhile would be lost.
    const agent = kind === 'early' ? this.agent(isTls) : shared;
    const to = { protocol: isTls ? 'https:' : 'http:', host: '127.0.0.1', port: isTls ? securePort : port };
    const asked = requestHttp1({ ...to, method, path, headers, agent });
    let stream: Writable = asked;
    const answer = new Promise<Answer | Error>((resolve) => {
      asked.on('error', resolve);
      asked.on('response', (body) => resolve({ status: body.statusCode ?? 0, fields: body.headers, body }));
      asked.on('upgrade', ({ statusCode = 0, headers: fields }, socket, early) => {
        stream = this.track(socket);
        socket.on('error', () => socket.destroy()).unshift(early);
        resolve({ status: statusCode, fields, body: socket });
      });
      asked.on('close', () => {
        resolve(new Error('closed without an answer'));
        if (agent !== shared) agent.destroy();
      });
    });
    if (method === 'GET') asked.end();
    return { answer, upload: () => stream, leave: () => stream.destroy() };
  }

  private async overHttp2(request: MixedRequest, isTls: boolean): Promise<Sent> {
    const { number, kind, uploadSize, path } = request;
    const nth = number % WINDOWS.length;
    const shared = this.sessions[isTls ? 'tls' : 'plain'][nth];
    const leavesAlone = request.cut === 'connection';
    const session = leavesAlone || shared === undefined ? await this.connect(isTls, WINDOWS[nth]) : shared;
    const method = kind === 'tunnel' ? CONNECT : { ':method': uploadSize === null ? 'GET' : 'POST' };
    const fields = { ...method, ':scheme': isTls ? 'https' : 'http', ':authority': 'a.test', ':path': path, ...fieldsOf(request) };
    const stream = session.request(fields, { endStream: uploadSize === null });
    const answer = new Promise<Answer | Error>((resolve) => {
      stream.on('error', resolve);
      stream.on('response', (head) => resolve({ status: head[':status'] ?? 0, fields: head, body: stream }));
      stream.on('close', () => resolve(new Error('closed without an answer')));
    });
    return { answer, upload: () => stream, leave: () => (leavesAlone ? session.destroy() : stream.close(constants.NGHTTP2_CANCEL)) };
  }

  private agent(isTls: boolean): Agent {
    return isTls ? new TlsAgent({ keepAlive: true, ca: this.ca, servername: 'a.test' }) : new Agent({ keepAlive: true });
  }

  /** A session that knows what the proxy supports. */
  private async connect(isTls: boolean, window = 65_535): Promise<ClientHttp2Session> {
    const origin = isTls ? `https://a.test:${this.proxy.securePort}` : `http://127.0.0.1:${this.proxy.port}`;
    const session = connectHttp2(origin, { host: '127.0.0.1', ca: this.ca, settings: { initialWindowSize: window } });
    this.track(session).on('error', () => session.destroy());
    await once(session, 'remoteSettings');
    session.setLocalWindowSize(window);
    return session;
  }

  private track<T extends Connection>(connection: T): T {
    this.open.add(connection);
    connection.once('close', () => this.open.delete(connection));
    return connection;
  }

  [Symbol.dispose](): void {
    for (const connection of this.open) connection.destroy();
    this.agents.plain.destroy();
    this.agents.tls.destroy();
  }
}

function fieldsOf({ kind, coding, uploadSize, sized }: MixedRequest): OutgoingHttpHeaders {
  if (kind === 'encoded') return { 'accept-encoding': coding };
  return uploadSize !== null && sized && kind !== 'tunnel' ? { 'content-length': uploadSize } : {};
}
