import { createServer } from 'node:http';

/** A small upstream that responds with its name and the request it received: `sample.ts NAME PORT`. */
const [name = 'sample', port = '9101'] = process.argv.slice(2);
let served = 0;

const server = createServer((request, response) => {
  served += 1;
  const seen = ['host', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-request-id'].map(
    (field) => `${field.padEnd(18)}${request.headers[field] ?? '-'}`,
  );
  response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
  response.end([`Hello from ${name}, request ${served}.`, `${request.method} ${request.url}`, ...seen, ''].join('\n'));
});
server.listen(Number(port), '127.0.0.1');

const stop = () => {
  server.close(() => process.exit(0));
  server.closeIdleConnections();
};
process.on('SIGTERM', stop);
// The demo holds the other end of stdin. When it closes, this process is no longer needed.
process.stdin.once('end', stop).once('error', stop).resume();
