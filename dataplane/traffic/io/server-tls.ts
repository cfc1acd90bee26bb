import type { Socket } from 'node:net';
import { ALREADY_READING, type Handle, readResult, type TlsHandle, tlsStreamOf } from './node-handle.ts';

/** What a handshake negotiated, with the names of Node's `TLSSocket`. */
export type Negotiated = Pick<TlsHandle, 'getCipher' | 'getProtocol' | 'isSessionReused'> & {
  readonly alpnProtocol: string | false | null;
};

export type TlsOwner = {
  /** The handshake has failed, or a record can't be read. The connection is about to be closed. */
  failed(reason: string): void;
  /** The connection is closed. */
  closed(): void;
  /** A callback has thrown: the connection has to be destroyed. */
  onFault(error: unknown): void;
};

export type HandshakeOwner = TlsOwner & {
  /** The handshake is complete. Now the connection has to get another owner, or its stream has to be requested. */
  secured(tls: ServerTls): void;
};

/**
 * Bytes that are passed to the library at a time: after a piece of more than 1,023 bytes it holds 16 KB for as long as the connection
 * lasts.
 */
const PIECE = 1_000;

const OF_HANDLE = Symbol('of the handle');
type OwnedHandle = { [OF_HANDLE]?: ServerTls };

/** A TLS connection without Node's streams, which cost about as much as the handshake itself. */
export class ServerTls {
  readonly handle: TlsHandle;
  /** Null once the handshake is complete. */
  private handshake: HandshakeOwner | null;
  /** Null once it has been notified of the end, and while there is a stream, which reports everything. */
  owner: TlsOwner | null;
  private stream: Socket | null = null;
  private isClosed = false;

  constructor(handle: TlsHandle & OwnedHandle, owner: HandshakeOwner) {
    this.handle = handle;
    this.handshake = owner;
    this.owner = owner;
    handle[OF_HANDLE] = this;
    handle.onhandshakedone = onHandshakeDone;
    handle.onerror = onError;
    handle.onread = onRead;
  }

  /** Begins with bytes that have been read. */
  begin(bytes: Buffer): void {
    const { handle } = this;
    for (let at = 0; at < bytes.length && !this.isClosed; at += PIECE) handle.receive(bytes.subarray(at, at + PIECE));
    // From the end of the handshake on, others read.
    if (this.isClosed || this.handshake === null) return;
    handle.reading = true;
    const status = handle.readStart();
    if (status !== 0 && status !== ALREADY_READING) this.destroy();
  }

  /** Its stream, paused. */
  get socket(): Socket {
    this.stream ??= tlsStreamOf(this.handle);
    return this.stream;
  }

  /** What was negotiated. */
  get negotiated(): Negotiated {
    const { handle } = this;
    return {
      alpnProtocol: handle.getALPNNegotiatedProtocol(),
      getCipher: () => handle.getCipher(),
      getProtocol: () => handle.getProtocol(),
      isSessionReused: () => handle.isSessionReused(),
    };
  }

  done(): void {
    const { handshake } = this;
    if (this.isClosed || handshake === null) return;
    this.handshake = null;
    handshake.secured(this);
    if (this.owner === handshake) this.owner = null;
  }

  failed(reason: string): void {
    this.owner?.failed(reason);
    this.destroy();
  }

  /** Closes the connection. Its owner is notified, usually later, if the handshake has not been completed. */
  destroy(): void {
    const { handle, owner, stream } = this;
    this.owner = null;
    if (stream !== null) {
      stream.destroy();
      return owner?.closed();
    }
    if (this.isClosed) return;
    this.isClosed = true;
    handle.close(() => {
      handle.destroySSL();
      owner?.closed();
    });
  }
}

function onHandshakeDone(this: Handle & OwnedHandle): void {
  step(this[OF_HANDLE], (tls) => tls.done());
}

function onError(this: Handle & OwnedHandle, { message }: Error): void {
  step(this[OF_HANDLE], (tls) => tls.failed(message));
}

/** During the handshake, only the end of the connection or an error is read. */
function onRead(this: Handle & OwnedHandle): undefined {
  if (readResult() < 0) step(this[OF_HANDLE], (tls) => tls.destroy());
}

function step(tls: ServerTls | undefined, act: (tls: ServerTls) => void): void {
  if (tls === undefined) return;
  try {
    act(tls);
  } catch (error) {
    if (tls.owner === null) tls.destroy();
    else tls.owner.onFault(error);
  }
}
