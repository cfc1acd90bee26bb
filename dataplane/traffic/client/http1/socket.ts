import type { Socket } from 'node:net';
import type { Answerable } from '../../exchange/answerable.ts';
import { guard } from '../../exchange/faults.ts';
import { cut } from '../../io/cut.ts';
import { LINGER_BYTES } from './limits.ts';

/** Who hears what happens on a client's socket. */
export type SocketOwner = Answerable & {
  receive(chunk: Buffer): void;
  unblock(): void;
  inputOver(): void;
  leave(): void;
};

/** The socket of a client that speaks HTTP/1.x: what it tells, each under the guard of its owner, and how it ends. */
export class ClientSocket {
  private readonly socket: Socket;
  private readonly owner: SocketOwner;
  private discarded = 0;

  constructor(socket: Socket, owner: SocketOwner) {
    this.socket = socket;
    this.owner = owner;
    this.listen();
    // The close that follows an error tells what there is to know: the client is gone.
    socket.on('error', this.failed).on('close', this.gone);
  }

  private readonly read = (chunk: Buffer): void => guard(this.owner, this.owner.receive, chunk);
  private readonly drained = (): void => guard(this.owner, this.owner.unblock);
  private readonly ended = (): void => guard(this.owner, this.owner.inputOver);
  private readonly gone = (): void => guard(this.owner, this.owner.leave);
  private readonly failed = (): void => void this.socket.destroy();

  listen(): void {
    this.socket.on('data', this.read).on('drain', this.drained).on('end', this.ended);
  }

  /** Pauses it for somebody else to read. */
  stopReading(): Socket {
    return this.socket.pause().off('data', this.read).off('drain', this.drained).off('end', this.ended);
  }

  /** The same for good: its errors and its end are somebody else's, too. */
  handOver(): Socket {
    return this.stopReading().off('error', this.failed).off('close', this.gone);
  }

  /** Counts from here what is thrown away. */
  discardAnew(): void {
    this.discarded = 0;
  }

  /** Beyond the limit nothing is read any more: a reset now could overtake the answer. */
  discard(bytes: number): void {
    this.discarded += bytes;
    if (this.discarded > LINGER_BYTES) this.socket.pause();
  }

  /** Nothing more will come that an early end could be lost over: no need to wait for the client's own end. */
  closeAtOnce(): void {
    if (this.socket.writableLength === 0) this.socket.destroy();
    else this.socket.destroySoon();
  }

  /** Ends our side and reads on for a moment: closing over unread bytes would reset the answer out of the client's hands. */
  closeGently(inputEnded: boolean, written: () => void): void {
    this.discarded = 0;
    this.socket.end(written);
    if (inputEnded) this.socket.destroySoon();
    else this.socket.resume();
  }

  /** Ends it in the middle of an answer. A body that ends with its connection would look whole after an orderly close. */
  breakOff(delimited: boolean): void {
    if (delimited) this.socket.destroySoon();
    else cut(this.socket);
  }
}
