import type { RequestOptions } from 'node:http';
import { connect, type LookupFunction } from 'node:net';
import { NAME } from '../../shared/name.ts';
import { openSession } from '../../shared/runtime/http/http2-session.ts';
import { request } from '../../shared/runtime/http/node-http.ts';
import { https, tls } from '../../shared/runtime/node-on-demand.ts';
import type { TransportSpec } from '../../shared/upstreams/transport.ts';
import { verifiedName } from '../../shared/upstreams/verified-name.ts';
import { connectOptions } from '../../shared/values/address.ts';
import type { ConnectTools } from './connection.ts';
import { describeConnectionError } from './connection-error.ts';
import type { WantedCheck } from './wanted-checks.ts';

type PageTarget = Pick<WantedCheck, 'address' | 'serverName' | 'transport' | 'timeoutMs'>;
type Page = { readonly path: string; readonly host: string; readonly status: string | null };

/** Reports the start of the response or a failure, possibly more than once. @returns a function that ends the request. */
type PageRequest = (
  target: PageTarget & { readonly lookup: LookupFunction },
  page: Page,
  answered: (status: number) => void,
  failed: (error: NodeJS.ErrnoException) => void,
) => () => void;

const AGENT = `${NAME}-health`;

/** The certificate of a target is verified as for requests, and the target gets the same certificate of the proxy. */
const verification = (serverName: string, transport: TransportSpec | null) => ({
  ...verifiedName(serverName),
  rejectUnauthorized: transport?.insecure !== true,
  ...(transport?.ca !== undefined && { ca: transport.ca }),
  ...(transport?.client_certificate && { cert: transport.client_certificate.certificate, key: transport.client_certificate.private_key }),
});

/**
 * Requests a page of a target on a new connection. On the expected status, or 2xx and 3xx, `done` is called with null, otherwise with the
 * reason.
 * @returns a function that cancels it; then `done` is not called.
 */
export function requestPage(
  target: PageTarget,
  page: Page,
  { clock, lookup }: ConnectTools,
  done: (reason: string | null) => void,
): () => void {
  const { transport, timeoutMs } = target;
  const begin = transport?.protocol === undefined ? requestOverHttp1 : requestOverHttp2;
  let over = false;
  const stop = (): void => {
    over = true;
    cancel();
    end();
  };
  const settle = (reason: string | null): void => {
    if (over) return;
    stop();
    done(reason === null ? null : `GET ${page.path} ${reason}`);
  };
  const cancel = clock.after(timeoutMs, () => settle(`got no response within ${timeoutMs / 1_000} s`));
  const end = begin(
    { ...target, lookup },
    page,
    (status) => settle(isHealthy(status, page.status) ? null : `answered ${status}${page.status === null ? '' : `, not ${page.status}`}`),
    // Ending the request after its response also raises an error, which is ignored.
    (error) => settle(`failed: ${describeConnectionError(error)}`),
  );
  return stop;
}

/** `expected` is a status, or a class such as 2xx; null is 2xx and 3xx. */
function isHealthy(status: number, expected: string | null): boolean {
  if (expected === null) return status >= 200 && status < 400;
  return expected.endsWith('xx') ? `${status}`[0] === expected[0] : `${status}` === expected;
}

const requestOverHttp1: PageRequest = ({ address, serverName, transport, lookup }, page, answered, failed) => {
  const at = connectOptions(address);
  const headers = { host: page.host, 'user-agent': AGENT, accept: '*/*', connection: 'close' };
  const options: RequestOptions = { ...('path' in at ? { socketPath: at.path } : at), path: page.path, headers, lookup, agent: false };
  const sent = serverName === null ? request(options) : https().request({ ...options, ...verification(serverName, transport) });
  sent.once('response', ({ statusCode = 0 }) => answered(statusCode));
  sent.once('upgrade', () => answered(101));
  sent.on('error', failed);
  sent.end();
  return () => void sent.destroy();
};

const requestOverHttp2: PageRequest = ({ address, serverName, transport, lookup }, page, answered, failed) => {
  const where = { ...connectOptions(address), lookup };
  const socket =
    serverName === null ? connect(where) : tls().connect({ ...where, ...verification(serverName, transport), ALPNProtocols: ['h2'] });
  // Loaded when it is first needed, since few targets speak HTTP/2.
  const { connect: connectHttp2 } = process.getBuiltinModule('node:http2');
  // Listen here first: the library's own error only says that the request failed.
  socket.on('error', failed);
  // The authority is set separately, because a URL does not accept every name that a resolver does.
  const session = openSession(socket, () => connectHttp2('http://localhost', { createConnection: () => socket }));
  session.on('error', failed);
  const scheme = serverName === null ? 'http' : 'https';
  const sent = session.request({ ':path': page.path, ':scheme': scheme, ':authority': page.host, 'user-agent': AGENT, accept: '*/*' });
  sent.once('response', (fields) => answered(Number(fields[':status'])));
  sent.on('error', failed);
  sent.once('close', () => failed(new Error('the connection was closed')));
  return () => session.destroy();
};
