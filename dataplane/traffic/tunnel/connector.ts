import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Endpoint } from '../upstream/endpoint.ts';
import { connectFailure, FAILURE, type Failure } from '../upstream/failure.ts';

/**
 * A connection to a target for one tunnel alone: resolved, verified and limited in time as every other one.
 * @returns the way to give it up before it stands.
 */
export function connectTo(endpoint: Endpoint, stands: (socket: Socket) => void, failed: (failure: Failure) => void): () => void {
  const { host, port, serverName, connectMs, tools } = endpoint;
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
  const cancel = tools.clock.after(connectMs, () => fail(FAILURE.connectTimeout));
  if (!tools.sockets.enterUpstream()) {
    settle();
    failed(FAILURE.noDescriptors);
    return () => undefined;
  }
  tools.resolver.resolve(host, (error, address) => {
    if (settled) return;
    if (error !== null) return fail(connectFailure(error));
    const target = { host: address, port, allowHalfOpen: true };
    const opening: Socket =
      serverName === null ? connect(target) : connectTls({ ...target, servername: serverName, ALPNProtocols: ['http/1.1'] });
    socket = opening;
    const lost = (cause: NodeJS.ErrnoException): void => {
      tools.resolver.forget(host);
      fail(connectFailure(cause));
    };
    opening.once('error', lost);
    opening.once(serverName === null ? 'connect' : 'secureConnect', () => {
      if (!settle()) return;
      opening.off('error', lost);
      opening.once('close', () => tools.sockets.leaveUpstream());
      stands(opening);
      tools.connected(endpoint);
    });
  });
  return () => {
    if (!settle()) return;
    socket?.destroy();
    tools.sockets.leaveUpstream();
  };
}
