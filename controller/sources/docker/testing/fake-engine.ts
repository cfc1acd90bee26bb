import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type FakeContainer, inspectionOf, type Listing, listingOf } from './fake-container.ts';

/** A fake engine on a socket that implements the required parts of the HTTP API and records every request. */
export class FakeEngine {
  readonly asked: string[] = [];
  readonly containers = new Map<string, FakeContainer>();
  apiVersion = '1.51';
  minApiVersion = '1.24';
  /** How far its clock is ahead of ours (ms). */
  skew = 0;
  /** Whether it reports no events of before `since` when they happen, as Podman. */
  isStrict = false;
  /** Responds instead of the engine; returns true if it did. */
  intercept: (path: string, response: ServerResponse) => boolean = () => false;
  private server: Server | undefined;
  /** Each with the time since which it reports events. */
  private streams = new Map<ServerResponse, number>();
  private past: { line: string; at: number }[] = [];
  private clock = 0;

  async listen(path: string): Promise<void> {
    this.server = createServer((request, response) => this.answer(request, response));
    this.server.listen(path);
    await once(this.server, 'listening');
  }

  /** Stops like an engine: all connections, the socket file and its event history are gone. */
  async stop(): Promise<void> {
    const server = this.server;
    if (!server) return;
    this.server = undefined;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    this.streams.clear();
    this.past = [];
    this.clock = 0;
    await closed;
  }

  /** Cuts responses like a proxy with a time limit. */
  cutStreams(): void {
    for (const stream of this.streams.keys()) stream.destroy();
    this.streams.clear();
  }

  get following(): number {
    return this.streams.size;
  }

  count(pattern: RegExp): number {
    return this.asked.filter((one) => pattern.test(one)).length;
  }

  run(container: FakeContainer): FakeContainer {
    const known = { running: true, ...container };
    this.containers.set(known.id, known);
    this.emit('create', known.id);
    this.emit('start', known.id);
    return known;
  }

  change(id: string, change: Partial<FakeContainer>): void {
    this.containers.set(id, { ...(this.containers.get(id) as FakeContainer), ...change });
  }

  kill(id: string, signal: string): void {
    this.emit('kill', id, { signal });
  }

  /** The process exits; the container remains. */
  die(id: string): void {
    this.change(id, { running: false });
    this.emit('die', id, { exitCode: '0' });
  }

  remove(id: string): void {
    const labels = this.containers.get(id)?.labels ?? {};
    this.containers.delete(id);
    this.emit('destroy', id, labels);
  }

  /** Writes an event to all subscribers. */
  emit(action: string, id: string, attributes: Record<string, string> = {}): void {
    const { labels = {}, name = id } = this.containers.get(id) ?? {};
    const actor = { ID: id, Attributes: { ...labels, image: 'app', name, ...attributes } };
    this.clock = Math.max(this.clock + 0.001, Date.now() + this.skew);
    const timeNano = Math.round(this.clock * 1e6);
    const line = `${JSON.stringify({ status: action, id, Type: 'container', Action: action, Actor: actor, scope: 'local', time: Math.floor(this.clock / 1_000), timeNano })}\n`;
    this.past.push({ line, at: this.clock });
    for (const [stream, since] of this.streams) if (!this.isStrict || this.clock >= since) stream.write(line);
  }

  tellNetwork(action: string, container: string, network = 'net1'): void {
    this.tell({ Type: 'network', Action: action, Actor: { ID: network, Attributes: { container, name: 'shop', type: 'bridge' } } });
  }

  /** As older versions of Podman, which don't name the network. */
  tellNetworkAsPodman(action: string, container: string): void {
    this.tell({ Type: 'network', Action: action, Actor: { ID: container, Attributes: { name: 'app', podId: '' } } });
  }

  /** As Podman does after each health check, before it has recorded it. */
  tellHealth(id: string, status: string): void {
    const { labels = {} } = this.containers.get(id) ?? {};
    this.tell({ Type: 'container', Action: 'health_status', Actor: { ID: id, Attributes: labels }, HealthStatus: status });
  }

  private tell(event: object): void {
    for (const stream of this.streams.keys()) stream.write(`${JSON.stringify({ ...event, timeNano: Date.now() * 1e6 })}\n`);
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', 'http://engine');
    this.asked.push(`${request.method} ${url.pathname}`);
    const path = url.pathname.replace(/^\/v\d+\.\d+/, '');
    if (this.intercept(path, response)) return;
    if (path === '/version') {
      response.setHeader('date', new Date(Date.now() + this.skew).toUTCString());
      return json(response, { Version: '28.0', ApiVersion: this.apiVersion, MinAPIVersion: this.minApiVersion });
    }
    if (path === '/events') return this.follow(url, response);
    if (path === '/containers/json') return json(response, this.list());
    const id = /^\/containers\/([^/]+)\/json$/.exec(path)?.[1] ?? '';
    const container = this.containers.get(id);
    if (container) return json(response, inspectionOf(container));
    response.statusCode = 404;
    json(response, { message: `No such container: ${id}` });
  }

  private list(): Listing[] {
    return [...this.containers.values()].map(listingOf);
  }

  private follow(url: URL, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    const since = Number(url.searchParams.get('since') ?? Number.POSITIVE_INFINITY) * 1_000;
    for (const { line, at } of this.past) if (at >= since) response.write(line);
    this.streams.set(response, since);
    response.once('close', () => this.streams.delete(response));
  }
}

function json(response: ServerResponse, value: unknown): void {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(value));
}
