import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/** Ends a connection so that the peer can tell the message was truncated: by a reset, or over TLS without close_notify (RFC 8446 6.1). */
export function cut(socket: Socket): void {
  if (socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}
