import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import type { Report } from './report.ts';

export type StatusServer = { readonly address: string; close(): Promise<void> };

/** The controller's own pages: /health, /ready, /metrics, /status. Nothing here changes anything. */
export async function listenStatus(parts: {
  host: string;
  port: number;
  report: Report;
  metrics: Registry;
  uptimeSecs: () => number;
}): Promise<StatusServer> {
  const server = createServer((request, response) => {
    answer(parts, request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  server.headersTimeout = 5_000;
  server.requestTimeout = 10_000;
  server.maxConnections = 100;
  await listening(server, parts.host, parts.port);
  const bound = server.address();
  const port = typeof bound === 'object' && bound ? bound.port : parts.port;
  return {
    address: `${parts.host.includes(':') ? `[${parts.host}]` : parts.host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

type Parts = Parameters<typeof listenStatus>[0];

async function answer(parts: Parts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = (request.url ?? '/').split('?')[0] as string;
  const page = PAGES[path];
  if (!page) return json(response, 404, { error: 'not found' });
  if (request.method !== 'GET') {
    response.setHeader('allow', 'GET');
    return json(response, 405, { error: 'method not allowed' });
  }
  await page(parts, response);
}

const PAGES: Readonly<Record<string, (parts: Parts, response: ServerResponse) => void | Promise<void>>> = {
  '/health': ({ uptimeSecs }, response) => json(response, 200, { status: 'ok', uptime_secs: uptimeSecs() }),
  '/ready': ({ report }, response) => {
    const readiness = report.readiness();
    json(response, readiness.ready ? 200 : 503, readiness);
  },
  '/metrics': async ({ metrics }, response) => {
    const text = await metrics.metrics();
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text);
  },
  '/status': ({ report }, response) => json(response, 200, report.full()),
};

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
