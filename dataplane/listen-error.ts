import { NAME } from '../shared/name.ts';
import { UsageError } from '../shared/runtime/flags.ts';
import { UnusableSocketError } from '../shared/runtime/http/unix-socket.ts';
import { inUse } from '../shared/runtime/process/port-holder.ts';
import { splitAddress } from '../shared/values/address.ts';
import { ListenError } from './workers/worker-handle.ts';

/** Opens the ports of the workers. @throws UsageError as `listenOrUsageError`, for the port that can't be opened. */
export async function listenOnPorts(
  ports: readonly { readonly port: number; readonly flag: string }[],
  open: () => Promise<unknown>,
): Promise<void> {
  const [main] = ports;
  try {
    await open();
  } catch (error) {
    const failed = error instanceof ListenError ? ports.find(({ port }) => port === error.port) : undefined;
    const { port = 0, flag = '' } = failed ?? main ?? {};
    await listenOrUsageError(flag, () => Promise.reject(error), port);
  }
}

/** Listens on an address. @throws UsageError with the reason and the flag that names another address. */
export async function listenOrUsageError(flag: string, open: () => Promise<unknown>, what: string | number): Promise<void> {
  try {
    await open();
  } catch (error) {
    const port = typeof what === 'number' ? what : Number(splitAddress(what).port);
    const advice = isOutOfDescriptors(error) ? '' : `; name another with ${flag}`;
    throw new UsageError(`${NAME} dataplane: can't listen on ${what}: ${listenReason(error, port)}${advice}`);
  }
}

/** Listens. @throws an error whose message is only the reason, for a warning. */
export async function withListenReason(port: number | null, open: () => Promise<void>): Promise<void> {
  try {
    await open();
  } catch (error) {
    throw new Error(listenReason(error, port));
  }
}

/** Why something can't listen. `port` null: it is not known. */
export function listenReason(error: unknown, port: number | null): string {
  if (error instanceof UnusableSocketError) return error.message;
  const code = codeOf(error);
  if (isOutOfDescriptors(error)) return 'the file descriptors are used up; raise the limit of open files (ulimit -n)';
  if (code === 'EADDRINUSE') return inUse(port ?? 0);
  if (code === 'EACCES') return 'permission denied (ports below 1024 need root or CAP_NET_BIND_SERVICE)';
  if (code === 'EADDRNOTAVAIL') return 'this machine does not have that address';
  return error instanceof Error ? error.message : String(error);
}

const codeOf = (error: unknown): unknown =>
  error instanceof ListenError ? error.code : error instanceof Error && 'code' in error ? error.code : '';

/** Another address would not help. */
const isOutOfDescriptors = (error: unknown): boolean => ['EMFILE', 'ENFILE'].includes(String(codeOf(error)));
