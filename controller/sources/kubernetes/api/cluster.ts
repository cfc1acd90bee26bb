import type { IncomingMessage, RequestOptions } from 'node:http';
import https from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import * as http from '../../../../shared/runtime/http/node-http.ts';
import { ApiFailure, refusedBy, unreachable } from './api-failure.ts';

/** A page of a list. */
export type ListPage = { readonly items: readonly unknown[]; readonly version: string; readonly next: string | null };

/** An event of a watch. `object` of a BOOKMARK has only a version. */
export type WatchEvent = { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; readonly object: unknown };

export type Query = Readonly<Record<string, string | number>>;

export type WatchOptions = {
  readonly silentMs: number;
  readonly signal: AbortSignal;
  /** Called when the server has accepted the watch. */
  opened(): void;
};

/** The API server of a cluster. Every method throws ApiFailure. */
export type Cluster = {
  /** Its address, for messages. */
  readonly where: string;
  /** The namespace of the account. */
  readonly namespace: string;
  list(path: string, query: Query, signal: AbortSignal): Promise<ListPage>;
  /** Ends when the server ends the watch. @throws ApiFailure also if nothing has arrived for `silentMs`. */
  watch(path: string, query: Query, options: WatchOptions): AsyncGenerator<WatchEvent>;
  /** A single request about one object. @returns the object of the response. */
  send(request: ObjectRequest, signal: AbortSignal): Promise<unknown>;
};

export type ObjectRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  readonly path: string;
  readonly query?: Query;
  /** The body of a PATCH: a JSON merge patch (RFC 7396). */
  readonly body?: object;
};

type RawRequest = Omit<ObjectRequest, 'method'> & { readonly method?: ObjectRequest['method']; readonly query: Query };

export type ClusterOptions = {
  /** The path of a kubeconfig; null: the account of this pod, or in its absence KUBECONFIG and the user's own. */
  readonly kubeconfig: string | null;
  readonly clock: Clock;
};

/** How long the server may take to begin its response (ms). */
const RESPONSE_MS = 30_000;

/** Reads the credentials. The client library is loaded only here. @throws ApiFailure if there are none. */
export async function openCluster({ kubeconfig, clock }: ClusterOptions): Promise<Cluster> {
  const { KubeConfig: Config } = await import('./kube-config.ts');
  const config = new Config();
  try {
    if (kubeconfig === null) config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
  } catch (error) {
    throw new ApiFailure(`the kubeconfig ${kubeconfig ?? 'of this user'} can’t be read: ${(error as Error).message}`);
  }
  const server = config.getCurrentCluster()?.server;
  if (server === undefined) throw new ApiFailure(`the kubeconfig ${kubeconfig ?? 'of this user'} has no current context with a cluster`);
  const namespace = config.getContextObject(config.getCurrentContext())?.namespace || 'default';
  return new ApiServer(config, { where: server.replace(/\/+$/, ''), namespace }, clock);
}

class ApiServer implements Cluster {
  readonly where: string;
  readonly namespace: string;
  private readonly config: KubeConfig;
  private readonly clock: Clock;
  /** The library's own requests open a connection each. */
  private readonly agents = { http: new http.Agent({ keepAlive: true }), https: new https.Agent({ keepAlive: true }) };

  constructor(config: KubeConfig, { where, namespace }: Pick<Cluster, 'where' | 'namespace'>, clock: Clock) {
    this.config = config;
    this.where = where;
    this.namespace = namespace;
    this.clock = clock;
  }

  async list(path: string, query: Query, signal: AbortSignal): Promise<ListPage> {
    const pieces: string[] = [];
    for await (const piece of this.text({ path, query }, within(signal))) pieces.push(piece);
    const body = this.parsed(pieces.join(''), path) as {
      readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
      readonly items?: readonly unknown[];
    };
    const { metadata: { resourceVersion = '', continue: next = '' } = {}, items } = body;
    if (items === undefined) throw new ApiFailure(`the cluster at ${this.where} answers ${path} without a list`);
    return { items, version: resourceVersion, next: next === '' ? null : next };
  }

  async send({ query = {}, ...request }: ObjectRequest, signal: AbortSignal): Promise<unknown> {
    const pieces: string[] = [];
    for await (const piece of this.text({ ...request, query }, within(signal))) pieces.push(piece);
    return this.parsed(pieces.join(''), request.path);
  }

  async *watch(path: string, query: Query, options: WatchOptions): AsyncGenerator<WatchEvent> {
    let rest = '';
    for await (const piece of this.text({ path, query: { ...query, watch: 'true' } }, options)) {
      const lines = (rest + piece).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line === '') continue;
        const event = this.parsed(line, path) as WatchEvent | { readonly type: 'ERROR'; readonly object: { readonly code?: number } };
        if (event.type === 'ERROR') throw refusedBy(this.where, path, event.object.code ?? 500, JSON.stringify(event.object));
        yield event;
      }
    }
  }

  /** The text of a response as it arrives. */
  private async *text(request: RawRequest, { silentMs, signal, opened }: WatchOptions): AsyncGenerator<string> {
    const { path } = request;
    const silence = new AbortController();
    const silent = () => silence.abort(new ApiFailure(`the cluster at ${this.where} has been silent for ${silentMs / 1_000} s in ${path}`));
    let cancel = this.clock.after(RESPONSE_MS, silent);
    try {
      const response = await this.request(request, AbortSignal.any([signal, silence.signal]));
      response.setEncoding('utf8');
      const { statusCode = 0 } = response;
      const failed = statusCode < 200 || statusCode > 299;
      let body = '';
      if (!failed) opened();
      cancel();
      cancel = this.clock.after(silentMs, silent);
      for await (const piece of response) {
        cancel();
        cancel = this.clock.after(silentMs, silent);
        if (failed) body += String(piece);
        else yield String(piece);
      }
      if (failed) throw refusedBy(this.where, path, statusCode, body, response.headers['retry-after']);
    } catch (error) {
      throw unreachable(this.where, silence.signal.aborted ? silence.signal.reason : error);
    } finally {
      cancel();
    }
  }

  private async request({ method = 'GET', path, query, body }: RawRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const url = new URL(this.where + path);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
    const text = body === undefined ? undefined : JSON.stringify(body);
    const content = text !== undefined && {
      'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      'content-length': Buffer.byteLength(text),
    };
    const options: RequestOptions = { method, signal, headers: { accept: 'application/json', ...content } };
    // Tokens and certificates may be renewed at any time.
    await this.config.applyToHTTPSOptions(options);
    // Any other is for a proxy.
    if (options.agent?.constructor === https.Agent) options.agent = this.agents.https;
    if (options.agent?.constructor === http.Agent) options.agent = this.agents.http;
    const { request } = url.protocol === 'http:' ? http : https;
    return await new Promise((resolve, reject) => request(url, options, resolve).on('error', reject).end(text));
  }

  private parsed(text: string, path: string): unknown {
    try {
      return JSON.parse(text);
    } catch {
      throw new ApiFailure(`the cluster at ${this.where} answers ${path} with what is not JSON`);
    }
  }
}

const within = (signal: AbortSignal): WatchOptions => ({ silentMs: RESPONSE_MS, signal, opened: () => undefined });
