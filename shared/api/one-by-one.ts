import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';

/** How many requests of one connection may be in progress; clients that send one after the other have one. */
const MAX_PIPELINED = 16;

/**
 * Closes connections that pipeline more than a few requests (RFC 9112 9.3.2 lets a server do so). Node calls the listener for all requests of
 * a read in one turn of the event loop, and 64 KB can contain 1,600: a few clients that need no token would keep all others waiting for
 * seconds, such as a kubelet that ends a process which does not answer its probe.
 */
export function oneByOne(listener: RequestListener): RequestListener {
  const inProgress = new WeakMap<Socket, number>();
  return (request, response) => {
    const { socket } = request;
    // Node goes on with the requests that it has read already.
    if (socket.destroyed) return;
    const count = inProgress.get(socket) ?? 0;
    if (count === MAX_PIPELINED) return void socket.destroy();
    inProgress.set(socket, count + 1);
    response.once('close', () => inProgress.set(socket, (inProgress.get(socket) ?? 1) - 1));
    return listener(request, response);
  };
}
