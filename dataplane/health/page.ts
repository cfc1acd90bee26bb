import { type RequestOptions, request } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { request as requestTls } from 'node:https';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { certificateShown } from '../../shared/certificate-shown.ts';
import { NAME } from '../../shared/name.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { keepUntilCollected, nativeHalf } from '../../shared/runtime/native-half.ts';
import type { TransportSpec } from '../../shared/transport.ts';
import { connectOptions } from '../../shared/values/address.ts';
import { wordsFor } from './connection-error.ts';
import type { Watched } from './wanted-checks.ts';

type Question = Pick<Watched, 'address' | 'serverName' | 'transport' | 'timeoutMs'>;
type Page = { readonly path: string; readonly host: string };

/** Tells how an answer begins, or that none comes, perhaps more than once. @returns the way to end the asking. */
type Asking = (
  question: Question,
  page: Page,
  answered: (status: number) => void,
  failed: (error: NodeJS.ErrnoException) => void,
) => () => void;

const AGENT = `${NAME}-health`;

/** How the certificate of a target is verified: as it is for requests. */
const verification = (serverName: string, transport: TransportSpec | null) => ({
  ...certificateShown(serverName),
  rejectUnauthorized: transport?.insecure !== true,
  ...(transport?.ca !== undefined && { ca: transport.ca }),
});

/**
 * Asks a target for a page, on a connection of its own. 2xx and 3xx are well. `done` is told null, or why not.
 * @returns the way to leave off; then `done` is told nothing.
 */
export function askForPage(question: Question, page: Page, clock: Clock, done: (reason: string | null) => void): () => void {
  const { transport, timeoutMs } = question;
  const ask = transport?.protocol === undefined ? askOverHttp1 : askOverHttp2;
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
  const cancel = clock.after(timeoutMs, () => settle(`had no answer within ${timeoutMs / 1_000} s`));
  const end = ask(
    question,
    page,
    (status) => settle(status >= 200 && status < 400 ? null : `answered ${status}`),
    // It is ended once it is settled, and says so.
    (error) => settle(`failed: ${wordsFor(error)}`),
  );
  return stop;
}

const askOverHttp1: Asking = ({ address, serverName, transport }, page, answered, failed) => {
  const at = connectOptions(address);
  const headers = { host: page.host, 'user-agent': AGENT, accept: '*/*', connection: 'close' };
  const options: RequestOptions = { ...('path' in at ? { socketPath: at.path } : at), path: page.path, headers, agent: false };
  const asking = serverName === null ? request(options) : requestTls({ ...options, ...verification(serverName, transport) });
  asking.once('response', ({ statusCode = 0 }) => answered(statusCode));
  asking.once('upgrade', () => answered(101));
  asking.on('error', failed);
  asking.end();
  return () => void asking.destroy();
};

const askOverHttp2: Asking = ({ address, serverName, transport }, page, answered, failed) => {
  const where = connectOptions(address);
  const socket =
    serverName === null ? connect(where) : connectTls({ ...where, ...verification(serverName, transport), ALPNProtocols: ['h2'] });
  // Before the library, which says no more than that it could not ask.
  socket.on('error', failed);
  // The page names its authority itself; a URL would not take every name that a resolver does.
  const session = connectHttp2('http://localhost', { createConnection: () => socket });
  session.on('error', failed);
  const scheme = serverName === null ? 'http' : 'https';
  const asking = session.request({ ':path': page.path, ':scheme': scheme, ':authority': page.host, 'user-agent': AGENT, accept: '*/*' });
  asking.once('ready', () => keepUntilCollected(nativeHalf(session), nativeHalf(asking)));
  asking.once('response', (fields) => answered(Number(fields[':status'])));
  asking.on('error', failed);
  asking.once('close', () => failed(new Error('the connection was closed')));
  return () => session.destroy();
};
