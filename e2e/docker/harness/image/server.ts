import { createServer } from 'node:http';
import { hostname } from 'node:os';

/**
 * The app of the tests. It answers "APP INSTANCE" to everything: which app it is, and which of its containers.
 * PORT; LISTEN_AFTER: ms until it listens; ON_TERM: `finish` (closes, answers what it has, ends), `ignore`, or ms that it goes on for.
 * /slow?ms=N answers after N ms, POST /sick and /well decide what /health answers.
 */
const { APP = 'app', PORT = '80', LISTEN_AFTER = '0', ON_TERM = 'finish' } = process.env;
const me = `${APP} ${hostname()}`;
let well = true;

const server = createServer((request, response) => {
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
  else setTimeout(end, Number(ON_TERM));
});
process.on('SIGHUP', () => undefined);
