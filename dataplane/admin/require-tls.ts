import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';
import type { ConnectionRoom } from '../../shared/api/connection-room.ts';

/** The first byte of a TLS connection: a record of the handshake (RFC 8446 5.1). */
const HANDSHAKE = 22;
const IN_THE_CLEAR = JSON.stringify({ error: 'this port speaks HTTPS only: write https://' });
const REFUSAL =
  'HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n' +
  `Content-Length: ${IN_THE_CLEAR.length}\r\nConnection: close\r\n\r\n${IN_THE_CLEAR}`;

/**
 * Adds TLS to a node:http server that listens on TCP. The server gets a connection as soon as the handshake begins, and
 * a client that speaks plain HTTP gets an error that says so. `context` is called for each connection. A handshake that
 * never ends counts as idle time, which the connection room limits.
 */
export function requireTls(server: Server, room: ConnectionRoom, context: () => SecureContext): void {
  const [carry] = server.listeners('connection');
  if (carry === undefined) throw new Error('a node:http server must have a connection listener');
  server.removeListener('connection', carry as (socket: Socket) => void);
  server.on('connection', (socket: Socket) => {
    // After a reset there is no one left to respond to.
    socket.on('error', () => socket.destroy());
    socket.once('readable', () => {
      const first = socket.read() as Buffer | null;
      if (first === null) return void socket.destroy();
      if (first[0] !== HANDSHAKE) return refuse(socket, first);
      socket.unshift(first);
      const secured = new TLSSocket(socket, { isServer: true, secureContext: context(), ALPNProtocols: ['http/1.1'] });
      room.become(socket, secured);
      carry.call(server, secured);
    });
  });
}

/** A request starts with a method, so with a capital letter; anything else would not understand a response. */
function refuse(socket: Socket, [first = 0]: Buffer): void {
  if (first < 0x41 || first > 0x5a) return void socket.destroy();
  socket.end(REFUSAL);
  // If bytes stay unread, the system resets the connection and the response may be lost.
  socket.resume();
}
