import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { tls } from '../../../../shared/runtime/node-on-demand.ts';
import { verifiedName } from '../../../../shared/upstreams/verified-name.ts';
import { connectFailure, FAILURE, type Failure } from '../../exchange/failure.ts';
import { guarded } from '../../exchange/faults.ts';
import { probeTarget } from '../../io/probes.ts';
import type { Endpoint } from './endpoint.ts';

/**
 * The shortest time that an address gets (ms), or a third of what is left if that is less: more than a round trip to another continent takes.
 * Beyond that, not all are tried.
 */
const MIN_ATTEMPT_MS = 300;
const MOST_ATTEMPTS = 3;
/** However little is left (ms). */
const LEAST_MS = 10;

export type ConnectOptions = {
  /** The protocol offered over TLS (ALPN, RFC 7301). */
  readonly alpn: 'http/1.1' | 'h2';
  /** Whether our side stays open when the target ends its side. */
  readonly halfOpen?: boolean;
};

/** The addresses of a target, tried one after the other until one accepts the connection, and the time for all of that (ms). */
export type Place = { readonly addresses: readonly string[]; readonly connectMs: number };

/** Opens a connection to a target, over TLS if it has it, or connects to its Unix socket. */
export function openTo(endpoint: Endpoint, place: Place, options: ConnectOptions): Socket {
  const { serverName } = endpoint;
  const socket = serverName === null ? openPlain(endpoint, place, options) : openSecure(endpoint, place, serverName, options);
  probeTarget(socket);
  const { loss } = endpoint;
  if (loss !== null) {
    loss.connecting(socket);
    socket.once('error', loss.broken);
  }
  // The name is resolved again before the next connection.
  if (place.addresses.length > 1)
    for (const event of ['connectionAttemptFailed', 'connectionAttemptTimeout'])
      socket.on(event, () => endpoint.tools.resolver.forget(endpoint.host));
  return socket;
}

const openPlain = (endpoint: Endpoint, place: Place, { halfOpen = false }: ConnectOptions): Socket =>
  connect({ ...destinationOf(endpoint, place), allowHalfOpen: halfOpen });

function destinationOf({ path, host, port }: Endpoint, { addresses, connectMs }: Place) {
  if (path !== null) return { path };
  if (addresses.length === 1) return { host: addresses[0], port };
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  const lookup: LookupFunction = (_host, _options, then) => process.nextTick(then, null, found);
  // Each gets the same share of the time. The next connection begins with the next one.
  const shareMs = Math.max(LEAST_MS, Math.min(MIN_ATTEMPT_MS, Math.floor(connectMs / MOST_ATTEMPTS)), Math.floor(connectMs / found.length));
  return { host, port, lookup, autoSelectFamily: true, autoSelectFamilyAttemptTimeout: shareMs };
}

/**
 * Opens a TLS connection to a target. SNI carries our name for it, and its certificate is verified as its route says.
 * A session may be resumed because it was made on a connection whose certificate was verified under the same name.
 */
function openSecure(endpoint: Endpoint, place: Place, serverName: string, { alpn, halfOpen = false }: ConnectOptions): TLSSocket {
  const { transport } = endpoint;
  const secureContext = transport.secureContext();
  const socket = tls().connect({
    ...destinationOf(endpoint, place),
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
  const open = (error: NodeJS.ErrnoException | null, addresses: readonly string[]): void => {
    if (settled) return;
    if (error !== null) return fail(connectFailure(error));
    const fresh = openTo(endpoint, { addresses, connectMs }, opening);
    socket = fresh;
    const lost = guarded({ onFault }, (cause: NodeJS.ErrnoException) => {
      tools.resolver.forget(host);
      endpoint.session = null;
      fail(connectFailure(cause));
    });
    fresh.once('error', lost);
    const connected = guarded({ onFault }, () => {
      if (endpoint.isGone) return fail(FAILURE.noTarget);
      if (!settle()) return;
      fresh.off('error', lost);
      fresh.once('close', () => tools.faults.step(() => tools.sockets.leaveUpstream()));
      established(fresh);
    });
    fresh.once(serverName === null ? 'connect' : 'secureConnect', connected);
  };
  guarded({ onFault }, () => tools.resolver.resolve(host, guarded({ onFault }, open)))();
  return () => {
    if (!settle()) return;
    socket?.destroy();
    tools.sockets.leaveUpstream();
  };
}
