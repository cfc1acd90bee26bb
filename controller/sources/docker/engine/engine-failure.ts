import { type Stats, statSync } from 'node:fs';
import { type EngineAddress, formatEngineAddress } from './engine-address.ts';

/** A request to the engine failed. The message is one line: what is wrong, where, and what to do. */
export class EngineFailure extends Error {
  /**
   * Whether the engine may do other things than what was requested: it responded, or only didn't in time, or cut off its response, as if
   * what it was asked about made it crash. Not if its socket can't be opened.
   */
  readonly isOfRequest: boolean;
  /** Whether it was not allowed, as by a socket proxy or an authorization plugin. */
  readonly isForbidden: boolean;
  /** Whether the engine was not even reached, so that trying again costs next to nothing. */
  readonly isUnreached: boolean;
  /** Whether a server responded, but not as an engine does: with a page, a redirect, or an error of the client. */
  readonly isNoEngine: boolean;

  constructor(message: string, { isOfRequest = false, isForbidden = false, isUnreached = false, isNoEngine = false } = {}) {
    super(message);
    this.isOfRequest = isOfRequest;
    this.isForbidden = isForbidden;
    this.isUnreached = isUnreached;
    this.isNoEngine = isNoEngine;
  }
}

/** The engine has not responded within this time (ms). */
export class LateResponse extends Error {
  constructor(ms: number) {
    super(`no response within ${ms / 1_000} s`);
  }
}

/** What servers written in Go say. */
const TLS_EXPECTED = /HTTP request to an HTTPS server/;

/** Turns an error from the engine's client into a helpful message. `what` describes the request: `list containers`. */
export function engineFailure(address: EngineAddress, what: string, error: unknown): EngineFailure {
  if (error instanceof EngineFailure) return error;
  const { code, message, statusCode } = error as { code?: unknown; message?: unknown; statusCode?: unknown };
  const where = formatEngineAddress(address);
  const known = typeof code === 'string' ? byCode(address, where, code) : undefined;
  if (known !== undefined) return new EngineFailure(known);
  if (statusCode === 403)
    return new EngineFailure(
      `the container engine at ${where} refuses to ${what} (403); a socket proxy has to allow containers, events and version`,
      { isOfRequest: true, isForbidden: true, isNoEngine: true },
    );
  const reason = String(message ?? error)
    .replace(/\s+/g, ' ')
    .trim();
  if (typeof statusCode === 'number' && statusCode >= 300 && statusCode < 400)
    return new EngineFailure(
      `the server at ${where} redirects the request to ${what}, as no container engine does; name one with --docker SOCKET`,
      { isNoEngine: true },
    );
  const isNoEngine = typeof statusCode === 'number' && statusCode >= 300 && statusCode < 500;
  if (TLS_EXPECTED.test(reason))
    return new EngineFailure(
      `the container engine at ${where} expects TLS, which is not supported: name its socket, or tcp://HOST:PORT of a socket proxy on a private network, with --docker`,
      { isNoEngine },
    );
  return new EngineFailure(`the container engine at ${where} could not ${what}: ${reason}`, { isOfRequest: true, isNoEngine });
}

function byCode(address: EngineAddress, where: string, code: string): string | undefined {
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return `this user is not allowed to open the container engine's socket ${where}; find its group with "stat -c %g ${where}" and give the controller that group (group_add in a compose file)`;
    case 'ENOENT':
      return `no container engine at ${where}: there is no such socket; start the engine, mount its socket there, or name another with --docker SOCKET`;
    case 'ECONNREFUSED':
      return address.kind === 'unix'
        ? refusedBy(address.path)
        : `no container engine at ${where}: connection refused; start it or name another with --docker tcp://HOST:PORT`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `no container engine at ${where}: the name cannot be resolved`;
    default:
      return undefined;
  }
}

type PathStats = Pick<Stats, 'isDirectory' | 'isSocket' | 'nlink'>;

/** The system also refuses connections to what is no socket. */
export function refusedBy(path: string, stats: PathStats | undefined = statSync(path, { throwIfNoEntry: false })): string {
  if (stats?.isDirectory())
    return `${path} is a directory, not a socket: container engines make one where a socket that they shall mount does not exist; remove it, mount the engine's socket there, or name another with --docker SOCKET`;
  if (stats !== undefined && !stats.isSocket()) return `${path} is not a socket; name that of the container engine with --docker SOCKET`;
  // Without a name, it is only reached through its mount.
  if (stats?.nlink === 0)
    return `${path} is a socket that the container engine no longer has: it has made another one since this was mounted; restart the container of the controller, or mount the directory of the socket instead`;
  return `the container engine at ${path} is not running: its socket exists, but refuses connections`;
}
