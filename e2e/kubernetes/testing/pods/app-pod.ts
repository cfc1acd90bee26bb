import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Pod, RunningPod } from './pod.ts';

/** A small app in the process of the tests, which responds with its name and the request. `answered` is called for each request. */
export async function runApp({ metadata: { name }, spec }: Pod, address: string, answered: () => void): Promise<RunningPod> {
  const ports = spec.containers.flatMap((container) => container.ports ?? []);
  const servers = await Promise.all(ports.map(({ containerPort }) => listen(name, address, containerPort, answered)));
  return {
    address,
    status: () => ({ ready: true, containers: [] }),
    // An app that stops listening when it is stopped, and finishes the requests in progress.
    async stop() {
      for (const server of servers) server.close().closeIdleConnections();
    },
    async kill() {
      for (const server of servers) server.close().closeAllConnections();
    },
  };
}

async function listen(pod: string, address: string, port: number, answered: () => void): Promise<Server> {
  const server = createServer((call, response) => {
    answered();
    if (call.url === '/verify') return void verify(call, response);
    response.setHeader('X-Pod', pod);
    const { host, ...headers } = call.headers;
    response.end(JSON.stringify({ pod, path: call.url, port, host, method: call.method, headers }));
  });
  await once(server.listen(port, address), 'listening');
  return server;
}

/** At this path it is an authentication server, which knows one session. */
function verify({ headers }: IncomingMessage, response: ServerResponse): void {
  if (headers.cookie === 'session=ann') response.writeHead(200, { 'X-Auth-Request-User': 'ann' }).end();
  else response.writeHead(401).end('who are you?');
}
