import type { Socket } from 'node:net';
import { CHUNKED, type Exchange, SMALL_PIECE } from '../exchange.ts';
import { requestHead } from './write.ts';

/** Writes requests to a target: heads, framing and bodies, in as few writes as there are pieces. */
export class RequestWriter {
  private readonly socket: Socket;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  /** Writes the head, and a body that has been taken whole. @returns whether the request is whole by that. */
  begin(x: Exchange): boolean {
    const { socket } = this;
    const { held } = x;
    const head = requestHead(x);
    if (held === null || held.length === 0) socket.write(head, 'latin1');
    else if (held.length <= SMALL_PIECE) socket.write(head + held.toString('latin1'), 'latin1');
    else {
      socket.cork();
      socket.write(head, 'latin1');
      socket.write(held);
      socket.uncork();
    }
    return held !== null || x.bodyLength === 0;
  }

  /** @returns false when the target should be given time. */
  body(x: Exchange, buffer: Buffer, from: number, to: number): boolean {
    const { socket } = this;
    if (x.bodyLength !== CHUNKED) return socket.write(buffer.subarray(from, to));
    const size = (to - from).toString(16);
    if (to - from <= SMALL_PIECE) return socket.write(`${size}\r\n${buffer.toString('latin1', from, to)}\r\n`, 'latin1');
    socket.cork();
    socket.write(`${size}\r\n`, 'latin1');
    socket.write(buffer.subarray(from, to));
    const more = socket.write('\r\n', 'latin1');
    socket.uncork();
    return more;
  }

  end(x: Exchange, trailers: string): void {
    if (x.bodyLength === CHUNKED) this.socket.write(`0\r\n${trailers}\r\n`, 'latin1');
  }
}
