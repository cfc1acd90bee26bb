import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '../../shared/runtime/testing/until.ts';

type Value = { readonly stringValue?: string; readonly intValue?: string };
type Attributes = readonly { readonly key: string; readonly value: Value }[];
type Resource = { readonly attributes: Attributes };

export type ReceivedSpan = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Attributes;
};
type ExportRequest = {
  readonly resourceSpans: readonly {
    readonly resource: Resource;
    readonly scopeSpans: readonly { readonly spans: readonly ReceivedSpan[] }[];
  }[];
};
type ReceivedExport = { readonly url: string; readonly headers: IncomingHttpHeaders; readonly body: ExportRequest };

/** A collector of spans (OTLP over HTTP, JSON). It accepts everything, unless a test says otherwise. */
export class Collector {
  readonly received: ReceivedExport[] = [];
  /** How the next requests are answered; null: never. */
  answer: { readonly status: number; readonly body: object } | null = { status: 200, body: {} };
  /** Whether spans are kept; a benchmark sends too many. */
  keeps = true;
  private readonly server: Server;
  readonly port: number;

  private constructor(server: Server) {
    this.server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on('request', (request, response) => {
      const { answer } = this;
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => this.keeps && pieces.push(piece));
      request.on('end', () => {
        if (answer === null) return;
        if (answer.status === 200 && this.keeps)
          this.received.push({
            url: `${request.method} ${request.url}`,
            headers: request.headers,
            body: JSON.parse(`${Buffer.concat(pieces)}`),
          });
        response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body));
      });
    });
  }

  static async start(port = 0): Promise<Collector> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    return new Collector(server);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get spans(): ReceivedSpan[] {
    return this.received.flatMap(({ body }) => body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)));
  }

  /** Waits for this many spans in all. */
  async until(count: number): Promise<ReceivedSpan[]> {
    await until(`${count} spans`, () => this.spans.length >= count);
    return this.spans;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

export const attributesOf = ({ attributes }: { readonly attributes: Attributes }): Record<string, string | undefined> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
