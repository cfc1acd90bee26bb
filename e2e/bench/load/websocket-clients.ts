import { connect, type Socket } from 'node:net';
import { HOST } from '../contenders/contender.ts';
import { acceptOf, FROM_CLIENT, FROM_SERVER, HEAD_END } from './websocket-frames.ts';

/**
 * Clients that each send a message, wait for the answer and send the next: `PORT CONNECTIONS SECONDS`. Prints how many
 * answers arrived after all were connected, and in how many seconds.
 */
const [port = 0, connections = 0, seconds = 0] = process.argv.slice(2).map(Number);
const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
const HEAD = `GET /socket HTTP/1.1\r\nHost: ${HOST}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${KEY}\r\nSec-WebSocket-Version: 13\r\n\r\n`;

let answers = 0;

/** One connection, once it is a WebSocket. @throws if the proxy declines. */
function open(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    let head = '';
    let received = 0;
    let isOpen = false;
    const buffer = Buffer.allocUnsafe(4_096);
    const receive = (bytes: number): boolean => {
      if (isOpen) {
        received += bytes;
        for (; received >= FROM_SERVER.length; received -= FROM_SERVER.length) {
          answers++;
          socket.write(FROM_CLIENT);
        }
        return true;
      }
      head += buffer.toString('latin1', 0, bytes);
      if (!head.endsWith(HEAD_END)) return true;
      isOpen = head.startsWith('HTTP/1.1 101 ') && head.includes(acceptOf(KEY));
      if (isOpen) resolve(socket);
      else reject(new Error(`no WebSocket: ${head}`));
      return true;
    };
    const socket = connect({ host: '127.0.0.1', port, noDelay: true, onread: { buffer, callback: receive } });
    socket.on('error', reject).on('close', () => reject(new Error('a WebSocket was closed')));
    socket.write(HEAD);
  });
}

const sockets = await Promise.all(Array.from({ length: connections }, open));
const begun = performance.now();
for (const socket of sockets) socket.write(FROM_CLIENT);
setTimeout(() => {
  process.stdout.write(JSON.stringify({ requests: answers, seconds: (performance.now() - begun) / 1_000 }));
  process.exit();
}, seconds * 1_000);
