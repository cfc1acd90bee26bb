import { writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { CertificatesFixture } from '../../../dataplane/traffic/testing/certificates.ts';
import type { Folder } from '../../testing/dataplane.ts';
import type { Pebble } from './pebble.ts';

/** Milliseconds since 1970. */
type Window = { readonly start: number; readonly end: number };
type Order = { readonly name: string; readonly replaces: string | null };
type NewOrder = { readonly identifiers: readonly { readonly value: string }[]; readonly replaces?: string };

/** A proxy in front of Pebble, which has no ARI, that adds renewal information from the test (RFC 9773). */
export class RenewalFront {
  readonly rootPath: string;
  /** The CertIDs it was queried for, in order. */
  readonly asked: string[] = [];
  /** Orders that were placed or rejected. */
  readonly orders: Order[] = [];
  /** The renewal information for a certificate; null if it is unknown. */
  advise: (id: string) => Window | null = () => null;
  /** The problem type to answer orders with; null to forward them. */
  refuses: (order: Order) => string | null = () => null;
  private readonly server: Server;
  private readonly agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
  private readonly pebble: () => Pebble;

  private constructor(server: Server, rootPath: string, pebble: () => Pebble) {
    this.server = server;
    this.rootPath = rootPath;
    this.pebble = pebble;
    server.on('request', (incoming, answer) => {
      this.answer(incoming, answer).catch((error: unknown) => answer.writeHead(502).end(String(error)));
    });
  }

  /** `pebble`: the current backend. */
  static async start(folder: Folder, pebble: () => Pebble): Promise<RenewalFront> {
    const certificates = new CertificatesFixture();
    const server = createServer(certificates.issue('localhost', '127.0.0.1'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const rootPath = folder.file('front-root.pem');
    writeFileSync(rootPath, certificates.ca);
    return new RenewalFront(server, rootPath, pebble);
  }

  get directory(): string {
    return `${this.base}/dir`;
  }

  private get base(): string {
    return `https://localhost:${(this.server.address() as AddressInfo).port}`;
  }

  private async answer(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const url = incoming.url ?? '';
    if (url.startsWith('/ari/')) return this.advice(url.slice(5), answer);
    const body = await textOf(incoming);
    const order = url === '/order-plz' ? orderIn(body) : null;
    const problem = order && this.refuses(order);
    if (order !== null && problem !== null) return this.refuse(order, problem, answer);
    const passed = await this.pass(incoming, body);
    // A request with a nonce that Pebble rejects is sent again.
    if (order !== null && passed.statusCode === 201) this.orders.push(order);
    const text = await textOf(passed);
    const { 'content-length': _, ...headers } = passed.headers;
    answer.writeHead(passed.statusCode ?? 502, headers);
    answer.end(url === '/dir' ? JSON.stringify({ ...JSON.parse(text), renewalInfo: `${this.base}/ari` }) : text);
  }

  private advice(id: string, answer: ServerResponse): void {
    this.asked.push(id);
    const window = this.advise(id);
    if (window === null) return void answer.writeHead(404).end();
    const [start, end] = [window.start, window.end].map((at) => new Date(at).toISOString());
    answer
      .writeHead(200, { 'content-type': 'application/json', 'retry-after': '3600' })
      .end(JSON.stringify({ suggestedWindow: { start, end } }));
  }

  private refuse(order: Order, problem: string, answer: ServerResponse): void {
    this.orders.push(order);
    const body = { type: `urn:ietf:params:acme:error:${problem}`, detail: 'the front says no', status: 409 };
    answer.writeHead(409, { 'content-type': 'application/problem+json' }).end(JSON.stringify(body));
  }

  /** Pebble builds its URLs from the requested host, so they lead here. */
  private pass({ method, url, headers }: IncomingMessage, body: string): Promise<IncomingMessage> {
    const { directory } = this.pebble().ports;
    return new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: directory, method, path: url, headers, agent: this.agent };
      request(options, resolve).on('error', reject).end(body);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.agent.destroy();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** The payload of a JWS is signed, not encrypted (RFC 8555 6.2). */
function orderIn(body: string): Order {
  const { payload } = JSON.parse(body) as { payload: string };
  const { identifiers, replaces = null } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as NewOrder;
  return { name: identifiers[0]?.value ?? '', replaces };
}

async function textOf(message: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of message.setEncoding('utf8')) text += String(part);
  return text;
}
