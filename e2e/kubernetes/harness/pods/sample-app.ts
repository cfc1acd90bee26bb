import { createServer } from 'node:http';
import { hostname } from 'node:os';

/**
 * The image `app` where it needs a process of its own: it listens on PORT of loopback, and ends when it is told to, after what it has
 * begun.
 */
const server = createServer((call, response) => {
  const { host, ...headers } = call.headers;
  response.end(JSON.stringify({ pod: process.env.POD_NAME ?? hostname(), path: call.url, host, headers }));
});
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1');
process.on('SIGTERM', () => server.close().closeIdleConnections());
