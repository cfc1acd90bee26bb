import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type Json = Readonly<Record<string, unknown>>;
export type FakeObject = {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [more: string]: unknown };
  readonly [more: string]: unknown;
};

type StoredObject = FakeObject & { readonly metadata: FakeObject['metadata'] & { readonly uid: string; readonly resourceVersion: string } };
type WatchedChange = { readonly version: number; readonly type: string; readonly object: StoredObject };
type Collection = { readonly objects: Map<string, StoredObject>; readonly changes: WatchedChange[] };
type Watch = { readonly collection: Collection; readonly response: ServerResponse; readonly accepts: (object: StoredObject) => boolean };

export type SeenRequest = {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: Json;
};

/** A fake API server on real sockets: lists in pages, watches, writes, and fails on request. */
export class FakeApiServer {
  readonly requests: SeenRequest[] = [];
  /** The highest number of concurrent write requests so far. */
  mostAtOnce = 0;
  /** All that have been accepted. */
  connections = 0;
  private writing = 0;
  /** Overrides the response to a request; undefined: the usual response. */
  answer: (request: SeenRequest) => { readonly status: number; readonly retryAfter?: string; readonly message?: string } | undefined = () =>
    undefined;
  private readonly folder = mkdtempSync(join(tmpdir(), 'cluster-'));
  private readonly collections = new Map<string, Collection>();
  private readonly watches = new Set<Watch>();
  private stalled = new Set<Watch>();
  private server: Server | undefined;
  private port = 0;
  private version = 1;
  /** Older versions can no longer be watched from, and their lists can't be continued. */
  private oldest = 0;

  /** Can be called again after `stop`, and then uses the same port. */
  async start(): Promise<void> {
    this.server = createServer((request, response) => void this.respond(request, response));
    this.server.on('connection', () => {
      this.connections += 1;
    });
    await once(this.server.listen(this.port, '127.0.0.1'), 'listening');
    ({ port: this.port } = this.server.address() as AddressInfo);
    const cluster = { server: `http://127.0.0.1:${this.port}`, 'insecure-skip-tls-verify': true };
    const config = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'test' },
      clusters: [{ name: 'test', cluster }],
      users: [{ name: 'test', user: {} }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', namespace: 'sluice' } }],
    };
    writeFileSync(this.kubeconfig, JSON.stringify(config));
  }

  get kubeconfig(): string {
    return join(this.folder, 'kubeconfig');
  }

  /** Stops listening and closes every connection. Stored objects remain. */
  async stop(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    if (!server) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true });
  }

  /** Creates an object in the list at `path`, or replaces the one with that name. */
  put(path: string, object: FakeObject): StoredObject {
    const collection = this.collection(path);
    const key = keyOf(object);
    const before = collection.objects.get(key);
    this.version += 1;
    const creationTimestamp = before?.metadata.creationTimestamp ?? '2026-01-01T00:00:00Z';
    const uid = before?.metadata.uid ?? `uid-${this.version}`;
    const metadata = { creationTimestamp, uid, ...object.metadata, resourceVersion: `${this.version}` };
    const stored = { ...object, metadata };
    collection.objects.set(key, stored);
    this.notify(collection, { version: this.version, type: before ? 'MODIFIED' : 'ADDED', object: stored });
    return stored;
  }

  delete(path: string, name: string): void {
    const collection = this.collection(path);
    const before = collection.objects.get(name);
    if (!before) return;
    this.version += 1;
    collection.objects.delete(name);
    const object = { ...before, metadata: { ...before.metadata, resourceVersion: `${this.version}` } };
    this.notify(collection, { version: this.version, type: 'DELETED', object });
  }

  get(path: string, name: string): StoredObject | undefined {
    return this.collections.get(path)?.objects.get(name);
  }

  /** The number of open watches. */
  get watching(): number {
    return this.watches.size;
  }

  /** Cuts every watch, as a load balancer that restarts does. */
  cut(): void {
    for (const { response } of [...this.watches]) response.destroy();
  }

  /** The watches that are open now stay open but send nothing any more. */
  stall(): void {
    this.stalled = new Set(this.watches);
  }

  /** Ends every watch, as at its time limit. */
  endWatches(): void {
    for (const { response } of [...this.watches]) response.end();
  }

  bookmark(): void {
    this.version += 1;
    for (const watch of this.watches) this.send(watch, 'BOOKMARK', { metadata: { resourceVersion: `${this.version}` } });
  }

  /** Forgets all changes so far: a client that continues from an earlier version is told that it is gone. */
  compact(): void {
    this.version += 1;
    this.oldest = this.version;
    for (const { changes } of this.collections.values()) changes.length = 0;
  }

  /** Becomes what it was at an earlier version, as after a restore from a backup, without the objects that have changed since. */
  goBackTo(version: number): void {
    this.version = version;
    for (const { objects, changes } of this.collections.values()) {
      for (const [key, { metadata }] of objects) if (Number(metadata.resourceVersion) > version) objects.delete(key);
      changes.splice(0, changes.length, ...changes.filter((change) => change.version <= version));
    }
  }

  /** Sends an error to open watches without closing them. */
  expire(): void {
    for (const watch of this.watches) this.send(watch, 'ERROR', { kind: 'Status', code: 410, message: 'too old resource version' });
  }

  /** The number of requests for lists, or for watches, of a path. */
  asked(path: string, kind: 'list' | 'watch'): readonly SeenRequest[] {
    return this.requests.filter((one) => one.path === path && one.method === 'GET' && (one.query.watch === 'true') === (kind === 'watch'));
  }

  private collection(path: string): Collection {
    const known = this.collections.get(path) ?? { objects: new Map<string, StoredObject>(), changes: [] };
    this.collections.set(path, known);
    return known;
  }

  private notify(collection: Collection, change: WatchedChange): void {
    collection.changes.push(change);
    for (const watch of this.watches)
      if (watch.collection === collection && watch.accepts(change.object)) this.send(watch, change.type, change.object);
  }

  private send(watch: Watch, type: string, object: unknown): void {
    if (!this.stalled.has(watch)) watch.response.write(`${JSON.stringify({ type, object })}\n`);
  }

  private async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://cluster');
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const body = (pieces.length === 0 ? {} : JSON.parse(Buffer.concat(pieces).toString())) as Json;
    if (request.method !== 'GET') {
      this.writing += 1;
      response.on('close', () => this.writing--);
      this.mostAtOnce = Math.max(this.mostAtOnce, this.writing);
    }
    const seen = { method: request.method ?? '', path: url.pathname, query: Object.fromEntries(url.searchParams), body };
    this.requests.push(seen);
    const special = this.answer(seen);
    if (special) return fail(response, special.status, special.message ?? 'as the test says', special.retryAfter);
    if (seen.method !== 'GET') return this.write(seen, response);
    const named = /^(.*)\/([^/]+)$/.exec(seen.path);
    const [, list = '', name = ''] = named ?? [];
    const isNamed = this.collections.has(list) || /\/(?:leases|events)$/.test(list);
    if (!isNamed) return seen.query.watch === 'true' ? this.watch(seen, response) : this.list(seen, response);
    const found = [...this.collection(list).objects.values()].find(({ metadata }) => metadata.name === name);
    return found ? succeed(response, found) : fail(response, 404, `${name} not found`);
  }

  private list({ path, query }: SeenRequest, response: ServerResponse): void {
    const { objects } = this.collection(path);
    const [version = this.version, after = ''] = query.continue === undefined ? [] : (JSON.parse(query.continue) as [number, string]);
    if (version < this.oldest) return fail(response, 410, 'The provided continue parameter is too old');
    const wanted = [...objects]
      .filter(([key, object]) => key > after && selects(query.fieldSelector, object))
      .sort(([a], [b]) => (a < b ? -1 : 1));
    const page = wanted.slice(0, Number(query.limit ?? 500));
    const [last = ''] = page.at(-1) ?? [];
    const next = page.length < wanted.length ? JSON.stringify([version, last]) : '';
    succeed(response, { metadata: { resourceVersion: `${version}`, continue: next }, items: page.map(([, object]) => object) });
  }

  private watch({ path, query }: SeenRequest, response: ServerResponse): void {
    const collection = this.collection(path);
    const from = Number(query.resourceVersion);
    const watch: Watch = { collection, response, accepts: (object) => selects(query.fieldSelector, object) };
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    if (from < this.oldest) {
      this.send(watch, 'ERROR', { kind: 'Status', code: 410, message: `too old resource version: ${from} (${this.oldest})` });
      return void response.end();
    }
    this.watches.add(watch);
    response.on('close', () => this.watches.delete(watch));
    for (const { version, type, object } of collection.changes) if (version > from && watch.accepts(object)) this.send(watch, type, object);
  }

  private write({ method, path, body }: SeenRequest, response: ServerResponse): void {
    const isStatus = path.endsWith('/status');
    const [, list = '', name = ''] = /^(.*)\/([^/]+)$/.exec(isStatus ? path.slice(0, -'/status'.length) : path) ?? [];
    if (method === 'POST') {
      const object = body as FakeObject;
      if (this.collection(path).objects.has(keyOf(object))) return fail(response, 409, 'already exists');
      return succeed(response, this.put(path, object), 201);
    }
    const { namespace, whole } = spread(list);
    // Objects of a namespace are also in the list of all namespaces, which is the only one stored.
    const [place = list] = [whole, list].filter((one) => this.get(one, `${namespace}/${name}`));
    const before = this.get(place, `${namespace}/${name}`);
    if (!before) return fail(response, 404, `${name} not found`);
    const { uid = before.metadata.uid, resourceVersion = before.metadata.resourceVersion } = (body.metadata ?? {}) as Record<
      string,
      string
    >;
    if (uid !== before.metadata.uid || resourceVersion !== before.metadata.resourceVersion)
      return fail(response, 409, 'the object has been modified');
    const next = method === 'PUT' ? body : merge(before, isStatus ? { status: body.status } : body);
    const managedFields = isStatus ? [{ manager: 'sluice', subresource: 'status' }] : before.metadata.managedFields;
    const { name: _, ...metadata } = { ...before.metadata, managedFields };
    succeed(response, this.put(place, { ...(next as FakeObject), metadata: { ...metadata, name } }));
  }
}

/** The namespace in the path of a list, and the path of the same list of all namespaces. */
function spread(list: string): { readonly namespace: string; readonly whole: string } {
  const [, api = '', namespace = '', resource = ''] = /^(.*)\/namespaces\/([^/]+)\/([^/]+)$/.exec(list) ?? [];
  return { namespace, whole: `${api}/${resource}` };
}

/** RFC 7396. */
function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const merged: Record<string, unknown> = typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [member, value] of Object.entries(patch))
    if (value === null) delete merged[member];
    else merged[member] = merge(merged[member], value);
  return merged;
}

const keyOf = ({ metadata: { namespace = '', name } }: FakeObject): string => `${namespace}/${name}`;

function selects(selector: string | undefined, object: FakeObject): boolean {
  const [member = '', value] = selector?.split('=') ?? [];
  if (member === '') return true;
  return (member === 'metadata.name' ? object.metadata.name : object[member]) === value;
}

function succeed(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function fail(response: ServerResponse, code: number, message: string, retryAfter?: string): void {
  const headers = { 'content-type': 'application/json', ...(retryAfter !== undefined && { 'retry-after': retryAfter }) };
  response.writeHead(code, headers).end(JSON.stringify({ kind: 'Status', code, message }));
}
