import type { Socket } from 'node:net';
import { isEncrypted } from './node-handle.ts';

/** Ends a connection so that the peer detects a truncated message: by a reset, or over TLS without close_notify (RFC 8446 6.1). */
export function cut(socket: Socket): void {
  if (isEncrypted(socket)) socket.destroy();
  else socket.resetAndDestroy();
}
