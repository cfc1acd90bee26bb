import { createServer } from 'node:http';
import { hostname } from 'node:os';

/**
 * The test app. It responds with "APP INSTANCE" to everything: the name of the app and of the container. PORT; LISTEN_AFTER: ms until it
 * listens; ON_TERM: `finish` (closes, finishes responses, exits), `ignore`, or ms without a request after which it ends. /slow?ms=N
 * responds after N ms. POST /sick and /well set the status of /health.
 */
const { APP = 'app', PORT = '80', LISTEN_AFTER = '0', ON_TERM = 'finish' } = process.env;
const me = `${APP} ${hostname()}`;
let well = true;
let ending: NodeJS.Timeout | undefined;

const server = createServer((request, response) => {
  ending?.refresh();
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://app');
  if (pathname === '/sick' || pathname === '/well') well = pathname === '/well';
  const status = pathname === '/health' && !well ? 500 : 200;
  const answer = () => {
    response.writeHead(status, { 'content-type': 'text/plain', 'content-length': me.length });
    response.end(me);
  };
  request.resume().once('end', () => (pathname === '/slow' ? setTimeout(answer, Number(searchParams.get('ms'))) : answer()));
});
server.keepAliveTimeout = 60_000;

setTimeout(() => server.listen(Number(PORT)), Number(LISTEN_AFTER));

process.on('SIGTERM', () => {
  if (ON_TERM === 'ignore') return;
  const end = () => {
    server.close(() => process.exit(0));
    server.closeIdleConnections();
  };
  if (ON_TERM === 'finish') end();
  else ending = setTimeout(end, Number(ON_TERM));
});
process.on('SIGHUP', () => undefined);
