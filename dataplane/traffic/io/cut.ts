import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/** Ends a connection so that the other side can't take what it has for the whole: by a reset, or by TLS without its farewell (RFC 8446 6.1). */
export function cut(socket: Socket): void {
  if (socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}
