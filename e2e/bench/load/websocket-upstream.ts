import { type AddressInfo, createServer, type Socket } from 'node:net';
import { acceptOf, FROM_CLIENT, FROM_SERVER, HEAD_END } from './websocket-frames.ts';

/** A server that answers each message of a WebSocket with another, and other requests with `ok`. Prints its port. */
const SMALL = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
/** Enough answers for all that usually arrives at once on a connection. */
const ANSWERS = Buffer.concat(Array.from({ length: 64 }, () => FROM_SERVER));

function serve(socket: Socket): void {
  let head = '';
  let upgraded = false;
  let pending = 0;
  const answer = (bytes: number): void => {
    pending += bytes;
    for (let messages = Math.floor(pending / FROM_CLIENT.length); messages > 0; messages = Math.floor(pending / FROM_CLIENT.length)) {
      const now = Math.min(messages, ANSWERS.length / FROM_SERVER.length);
      pending -= now * FROM_CLIENT.length;
      socket.write(ANSWERS.subarray(0, now * FROM_SERVER.length));
    }
  };
  socket.setNoDelay().on('data', (data) => {
    if (upgraded) return answer(data.length);
    head += data.toString('latin1');
    if (!head.includes(HEAD_END)) return;
    const key = /^sec-websocket-key: *(\S+)/im.exec(head)?.[1];
    if (key === undefined) {
      head = '';
      return void socket.write(SMALL);
    }
    upgraded = true;
    const fields = [
      'HTTP/1.1 101 Switching Protocols',
      'Upgrade: websocket',
      'Connection: Upgrade',
      `Sec-WebSocket-Accept: ${acceptOf(key)}`,
    ];
    socket.write(fields.join('\r\n') + HEAD_END);
    answer(head.length - head.indexOf(HEAD_END) - HEAD_END.length);
  });
  // A client may close while an answer is under way.
  socket.on('error', () => socket.destroy());
}

const server = createServer(serve).listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
