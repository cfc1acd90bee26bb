import type { Socket } from 'node:net';
import type { FaultOwner } from '../../exchange/fault-owner.ts';
import { guard } from '../../exchange/faults.ts';
import { cut } from '../../io/cut.ts';
import { type DirectReader, DirectSocket } from '../../io/direct-socket.ts';
import { LINGER_BYTES } from './limits.ts';
import type { RequestBody } from './request-body.ts';

/** Handles the events of a client's socket. */
export type SocketOwner = FaultOwner & {
  receive(chunk: Buffer): void;
  unblock(): void;
  inputOver(): void;
  leave(): void;
};

/** The socket of an HTTP/1.x client: passes on its events, each guarded for its owner, and closes it properly. */
export class ClientSocket implements DirectReader {
  readonly direct: DirectSocket;
  private readonly socket: Socket;
  private readonly owner: SocketOwner;
  private readonly body: RequestBody;
  private discarded = 0;

  constructor(socket: Socket, owner: SocketOwner, body: RequestBody) {
    this.socket = socket;
    this.owner = owner;
    this.body = body;
    this.direct = new DirectSocket(socket, this);
    this.listen();
    // The close event that follows an error is handled: the client is gone.
    socket.on('error', this.failed).on('close', this.gone);
  }

  private readonly drained = (): void => guard(this.owner, this.owner.unblock);
  private readonly ended = (): void => guard(this.owner, this.owner.inputOver);
  private readonly gone = (): void => guard(this.owner, this.owner.leave);
  private readonly failed = (): void => void this.socket.destroy();

  nextBuffer(): Buffer {
    return this.body.nextBuffer();
  }

  receive(chunk: Buffer): void {
    this.owner.receive(chunk);
  }

  onFault(error: unknown): void {
    this.owner.onFault(error);
  }

  listen(): void {
    this.direct.read();
    this.socket.on('drain', this.drained).on('end', this.ended);
  }

  /** Pauses it so that a tunnel can read it. */
  stopReading(): Socket {
    this.direct.release();
    return this.socket.off('drain', this.drained).off('end', this.ended);
  }

  /** The same permanently: its errors and its end are also handled elsewhere from now on. */
  handOver(): Socket {
    return this.stopReading().off('error', this.failed).off('close', this.gone);
  }

  /** Starts counting discarded bytes. */
  discardAnew(): void {
    this.discarded = 0;
  }

  /** Beyond the limit reading stops: a reset now could overtake the response. */
  discard(bytes: number): void {
    this.discarded += bytes;
    if (this.discarded > LINGER_BYTES) this.direct.pause();
  }

  /** The client sends nothing more, so closing can't destroy the response: no need to wait for the client's end. */
  closeAtOnce(): void {
    if (this.socket.writableLength === 0) this.socket.destroy();
    else this.socket.destroySoon();
  }

  /** Ends our side and reads on for a moment: closing with unread bytes would reset the connection and lose the response. */
  closeGently(inputEnded: boolean, written: () => void): void {
    this.discarded = 0;
    this.socket.end(written);
    if (inputEnded) this.socket.destroySoon();
    else this.direct.resume();
  }

  /** Ends it in the middle of a response. A body that ends with its connection would look complete after an orderly close. */
  breakOff(delimited: boolean): void {
    if (delimited) this.socket.destroySoon();
    else cut(this.socket);
  }
}
