import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

const HANDSHAKE_KEY = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** An app that serves a page, echoes short WebSocket text messages, and echoes bytes over a custom protocol. */
export async function chatApp(): Promise<Server> {
  const server = createServer((_, response) => response.end('page'));
  server.on('upgrade', (request, socket: Socket) => {
    if (request.headers.upgrade !== 'websocket') {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: custom/1\r\n\r\n');
      return socket.pipe(socket);
    }
    const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}${HANDSHAKE_KEY}`).digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    return socket.on('data', (frame: Buffer) => echo(socket, frame));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** Returns a short masked text frame without its mask (RFC 6455 5.2). */
function echo(socket: Socket, frame: Buffer): void {
  if (((frame[0] ?? 0) & 0xf) !== 1) return void socket.end();
  const length = (frame[1] ?? 0) & 0x7f;
  const mask = frame.subarray(2, 6);
  const text = frame.subarray(6, 6 + length).map((byte, index) => byte ^ (mask[index % 4] ?? 0));
  socket.write(Buffer.concat([Buffer.from([0x81, length]), text]));
}

export const addressOf = (server: Server): string => `127.0.0.1:${(server.address() as AddressInfo).port}`;
