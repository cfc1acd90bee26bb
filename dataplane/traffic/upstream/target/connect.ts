import { connect, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { tls } from '../../../../shared/runtime/node-on-demand.ts';
import { verifiedName } from '../../../../shared/upstreams/verified-name.ts';
import { connectFailure, FAILURE, type Failure } from '../../exchange/failure.ts';
import { guarded } from '../../exchange/faults.ts';
import type { Endpoint } from './endpoint.ts';

export type ConnectOptions = {
  /** The protocol offered over TLS (ALPN, RFC 7301). */
  readonly alpn: 'http/1.1' | 'h2';
  /** Whether our side stays open when the target ends its side. */
  readonly halfOpen?: boolean;
};

/** Opens a TCP connection to an address of a target, or connects to its Unix socket. */
export const openPlain = (endpoint: Endpoint, address: string, { halfOpen = false }: ConnectOptions): Socket =>
  connect({ ...destinationOf(endpoint, address), allowHalfOpen: halfOpen });

const destinationOf = ({ path, port }: Endpoint, address: string) => (path === null ? { host: address, port } : { path });

/**
 * Opens a TLS connection to an address of a target. SNI carries our name for it, and its certificate is verified as its route says.
 * A session may be resumed because it was made on a connection whose certificate was verified under the same name.
 */
export function openSecure(endpoint: Endpoint, address: string, serverName: string, { alpn, halfOpen = false }: ConnectOptions): TLSSocket {
  const { transport } = endpoint;
  const secureContext = transport.secureContext();
  const socket = tls().connect({
    ...destinationOf(endpoint, address),
    ...verifiedName(serverName),
    ALPNProtocols: [alpn],
    rejectUnauthorized: !transport.insecure,
    ...(halfOpen && { allowHalfOpen: true }),
    ...(secureContext !== null && { secureContext }),
    ...(endpoint.session !== null && { session: endpoint.session }),
  });
  // TLS 1.2 provides its session before the certificate is verified, 1.3 after.
  let session: Buffer | null = null;
  socket.on('session', (fresh: Buffer) => {
    session = fresh;
    if (socket.authorized) endpoint.session = fresh;
  });
  socket.on('secureConnect', () => {
    if (session !== null && socket.authorized) endpoint.session = session;
  });
  return socket;
}

/**
 * Connects to a target: resolves its name, verifies its certificate and enforces the connect timeout. The caller manages the socket
 * afterwards.
 * @returns a function that cancels it before it is established.
 */
export function connectTo(
  endpoint: Endpoint,
  connectMs: number,
  opening: ConnectOptions,
  established: (socket: Socket | TLSSocket) => void,
  failed: (failure: Failure) => void,
): () => void {
  const { host, serverName, tools } = endpoint;
  let socket: Socket | null = null;
  let settled = false;
  const settle = (): boolean => {
    if (settled) return false;
    settled = true;
    cancel();
    return true;
  };
  const fail = (failure: Failure): void => {
    if (!settle()) return;
    socket?.destroy();
    tools.sockets.leaveUpstream();
    failed(failure);
  };
  if (!tools.sockets.enterUpstream()) {
    failed(FAILURE.noDescriptors);
    return () => undefined;
  }
  // After a long turn, timers run before sockets are polled: the connection may have been established in time.
  const cancel = tools.clock.after(connectMs, () => setImmediate(fail, FAILURE.connectTimeout));
  const onFault = (error: unknown): void => {
    tools.faults.note('connection', error, { target: endpoint.address });
    fail(FAILURE.fault);
  };
  const open = (error: NodeJS.ErrnoException | null, address: string): void => {
    if (settled) return;
    if (error !== null) return fail(connectFailure(error));
    const fresh = serverName === null ? openPlain(endpoint, address, opening) : openSecure(endpoint, address, serverName, opening);
    socket = fresh;
    const lost = guarded({ onFault }, (cause: NodeJS.ErrnoException) => {
      tools.resolver.forget(host);
      endpoint.session = null;
      fail(connectFailure(cause));
    });
    fresh.once('error', lost);
    fresh.once(serverName === null ? 'connect' : 'secureConnect', () => {
      if (!settle()) return;
      fresh.off('error', lost);
      fresh.once('close', () => tools.faults.step(() => tools.sockets.leaveUpstream()));
      established(fresh);
    });
  };
  guarded({ onFault }, () => tools.resolver.resolve(host, guarded({ onFault }, open)))();
  return () => {
    if (!settle()) return;
    socket?.destroy();
    tools.sockets.leaveUpstream();
  };
}
