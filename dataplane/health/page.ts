import { type RequestOptions, request } from 'node:http';
import { request as requestTls } from 'node:https';
import { splitAddress } from '../../shared/address.ts';
import { NAME } from '../../shared/name.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Watched } from './watched.ts';
import { wordsFor } from './words.ts';

type Question = Pick<Watched, 'address' | 'serverName' | 'timeoutMs'>;

/**
 * Asks a target for a page, on a connection of its own. 2xx and 3xx are well. `done` is told null, or why not.
 * @returns the way to leave off; then `done` is told nothing.
 */
export function askForPage(
  { address, serverName, timeoutMs }: Question,
  page: { readonly path: string; readonly host: string },
  clock: Clock,
  done: (reason: string | null) => void,
): () => void {
  const { host, port } = splitAddress(address);
  const headers = { host: page.host, 'user-agent': `${NAME}-health`, accept: '*/*', connection: 'close' };
  const options: RequestOptions = { host, port, path: page.path, headers, agent: false };
  const asking = serverName === null ? request(options) : requestTls({ ...options, servername: serverName });
  let over = false;
  const stop = (): void => {
    over = true;
    cancel();
    asking.destroy();
  };
  const settle = (reason: string | null): void => {
    if (over) return;
    stop();
    done(reason === null ? null : `GET ${page.path} ${reason}`);
  };
  const cancel = clock.after(timeoutMs, () => settle(`had no answer within ${timeoutMs / 1_000} s`));
  asking.once('response', ({ statusCode = 0 }) => settle(statusCode >= 200 && statusCode < 400 ? null : `answered ${statusCode}`));
  asking.once('upgrade', () => settle('answered 101'));
  // It is destroyed once it is settled, and says so.
  asking.on('error', (error: NodeJS.ErrnoException) => settle(`failed: ${wordsFor(error)}`));
  asking.end();
  return stop;
}
