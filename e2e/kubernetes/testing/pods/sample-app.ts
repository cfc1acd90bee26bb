import { hostname } from 'node:os';

// An import of node:http loads all of it, which takes 40 ms of CPU time.
const { createServer } = process.getBuiltinModule('node:http');

/**
 * The image `app` if it needs a process of its own: it listens on PORT of loopback, and ends on SIGTERM after the requests in progress.
 */
const server = createServer((call, response) => {
  const { host, ...headers } = call.headers;
  response.end(JSON.stringify({ pod: process.env.POD_NAME ?? hostname(), path: call.url, host, headers }));
});
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1');
process.on('SIGTERM', () => server.close().closeIdleConnections());
