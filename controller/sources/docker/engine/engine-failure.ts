import { type EngineAddress, formatEngineAddress } from './engine-address.ts';

/** A request to the engine failed. The message is one line: what is wrong, where, and what to do. */
export class EngineFailure extends Error {
  /**
   * Whether the engine may do other things than what was requested: it responded, or only didn't in time. Not if access is refused in
   * general.
   */
  readonly isOfRequest: boolean;

  constructor(message: string, isOfRequest = false) {
    super(message);
    this.isOfRequest = isOfRequest;
  }
}

/** The engine has not responded within this time (ms). */
export class LateResponse extends Error {
  constructor(ms: number) {
    super(`no response within ${ms / 1_000} s`);
  }
}

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
    );
  const reason = String(message ?? error).trim();
  return new EngineFailure(
    `the container engine at ${where} could not ${what}: ${reason}`,
    typeof statusCode === 'number' || error instanceof LateResponse,
  );
}

function byCode(address: EngineAddress, where: string, code: string): string | undefined {
  const isSocket = address.kind === 'unix';
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return `this user is not allowed to open the container engine's socket ${where}; find its group with "stat -c %g ${where}" and give the controller that group (group_add in a compose file)`;
    case 'ENOENT':
      return `no container engine at ${where}: there is no such socket; start the engine, mount its socket there, or name another with --docker SOCKET`;
    case 'ENOTSOCK':
    case 'EISDIR':
      return `${where} is not a socket; name that of the container engine with --docker SOCKET`;
    case 'ECONNREFUSED':
      return isSocket
        ? `the container engine at ${where} is not running: its socket exists, but refuses connections`
        : `no container engine at ${where}: connection refused; start it or name another with --docker tcp://HOST:PORT`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `no container engine at ${where}: the name cannot be resolved`;
    default:
      return undefined;
  }
}
