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
 * Puts TLS before a server of node:http that listens on TCP: it sees a connection as soon as the handshake begins. Who
 * speaks plain HTTP is told so. `context` is asked anew for each connection. A handshake that never ends is idleness,
 * which the room sees to.
 */
export function speakTls(server: Server, room: ConnectionRoom, context: () => SecureContext): void {
  const [carry] = server.listeners('connection');
  if (carry === undefined) throw new Error('a server of node:http takes its connections by an event');
  server.removeListener('connection', carry as (socket: Socket) => void);
  server.on('connection', (socket: Socket) => {
    // Whoever resets it has nothing more to hear.
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

/** A method begins with a capital letter; whatever else it is would not understand an answer. */
function refuse(socket: Socket, [first = 0]: Buffer): void {
  if (first < 0x41 || first > 0x5a) return void socket.destroy();
  socket.end(REFUSAL);
  // Bytes that nobody reads would make the system reset the connection, and the answer with it.
  socket.resume();
}
