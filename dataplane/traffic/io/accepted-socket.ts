import { Socket } from 'node:net';
import { beginRead, endRead } from '../../../shared/runtime/clock.ts';
import { type AcceptedReader, closed, listen, type StreamListeners } from './accepted-reader.ts';
import { hasBacklog, streamHasBacklog } from './backlog.ts';
import { keepBypass } from './bypass.ts';
import { cut } from './cut.ts';
import { DirectSocket } from './direct-socket.ts';
import {
  type AcceptedHandle,
  ALREADY_READING,
  type ConnectionEnd,
  END_OF_INPUT,
  type Handle,
  isConnected,
  isEncrypted,
  type PendingWrite,
  readResult,
  streamOf,
  type TcpHandle,
} from './node-handle.ts';
import { ReadBuffer } from './read-buffer.ts';

/** Where handles write the address of a client. It is read at once, so one object serves all: its members are added only once. */
const END: ConnectionEnd = {};

const OWNER = Symbol('owner');
type Owned = { [OWNER]?: AcceptedSocket | null };

/**
 * A connection that a port has accepted. Node's stream for it costs more than everything else that a short connection needs, so it is only
 * created in uncommon cases: for a write that the system can't complete at once or that fails, for a half-close, and on request. Until then
 * the connection is a bare handle; from then on it is a `DirectSocket`.
 */
export class AcceptedSocket {
  /** Null once the connection has a stream or is closed. */
  protected handle: (AcceptedHandle & Owned) | null;
  protected stream: Socket | null;
  protected direct: DirectSocket | null = null;
  private listeners: StreamListeners | null = null;
  reader: AcceptedReader | null = null;
  private buffer: Buffer | null = null;
  private reading = false;
  protected paused = false;
  /** Whether the client has ended its side, as far as is known without a stream. */
  protected over = false;

  private readonly allowHalfOpen: boolean;

  protected constructor(handle: AcceptedHandle | null, stream: Socket | null, allowHalfOpen: boolean) {
    this.handle = handle;
    this.stream = stream;
    this.allowHalfOpen = allowHalfOpen;
  }

  /** A connection without a stream. `allowHalfOpen` applies to the stream that it may get. */
  static ofHandle(handle: TcpHandle, allowHalfOpen: boolean): AcceptedSocket {
    return new AcceptedSocket(handle, null, allowHalfOpen);
  }

  /** A connection that has a stream. */
  static ofStream(socket: Socket): AcceptedSocket {
    return new AcceptedSocket(null, socket, socket.allowHalfOpen);
  }

  /** Its stream, which reports everything from now on. It is paused unless it is read here. */
  get socket(): Socket {
    return this.stream ?? this.makeStream();
  }

  protected makeStream(): Socket {
    const { handle, reader } = this;
    const socket = handle === null ? new Socket().destroy() : this.streamOf(handle);
    this.stream = socket;
    this.handle = null;
    if (handle !== null && reader !== null) {
      this.listeners = listen(socket, reader);
      this.readStream(socket, reader);
    }
    if (this.paused) this.direct?.pause();
    return socket;
  }

  protected streamOf(handle: AcceptedHandle): Socket {
    return streamOf(handle, this.allowHalfOpen);
  }

  private readStream(socket: Socket, reader: AcceptedReader): void {
    this.direct = new DirectSocket(socket, reader);
    this.direct.read();
  }

  get hasStream(): boolean {
    return this.stream !== null;
  }

  /**
   * Gives its handle to `use`, if it has no stream and is not closed. The result of `use` receives all further reads, and nothing more is
   * reported here. Reading is not interrupted: stopping and restarting it would take several system calls. If `use` returns null, the
   * connection stays as it is.
   */
  takeHandle<T>(use: (handle: AcceptedHandle) => T | null): T | null {
    const { handle } = this;
    const used = handle && use(handle);
    if (handle === null || used === null) return null;
    this.handle = null;
    this.reader = null;
    handle[OWNER] = null;
    return used;
  }

  // Addresses and state.

  /** The client's address and port; null if it has already left. */
  get remote(): { readonly address: string; readonly port: number | null } | null {
    const { handle, stream } = this;
    if (handle === null) {
      const address = stream?.remoteAddress;
      return address === undefined ? null : { address, port: stream?.remotePort ?? null };
    }
    return handle.getpeername(END) === 0 && END.address !== undefined ? { address: END.address, port: END.port ?? null } : null;
  }

  /** Our address; undefined once it is closed. */
  get localAddress(): string | undefined {
    const { handle, stream } = this;
    if (handle === null) return stream?.localAddress;
    const end: ConnectionEnd = {};
    handle.getsockname(end);
    return end.address;
  }

  get destroyed(): boolean {
    return this.handle === null && this.stream?.destroyed !== false;
  }

  /** Whether it has been reset. After the client has ended its side, nothing reports that until something is written. */
  get isGone(): boolean {
    return !isConnected(this.handle ?? this.socket);
  }

  /** Bytes that have been written or are waiting to be; 0 once it is closed without ever having had a stream. */
  get bytesWritten(): number {
    return this.handle === null ? (this.stream?.bytesWritten ?? 0) : this.handle.bytesWritten;
  }

  /** Bytes that wait to be written. */
  get writableLength(): number {
    return this.stream === null ? 0 : this.stream.writableLength;
  }

  /** Whether TLS alone leaves so much waiting that the connection has to be closed. */
  get hasBacklog(): boolean {
    return this.stream === null ? hasBacklog(this.handle, 0) : streamHasBacklog(this.stream);
  }

  /** Whether everything that was written has been handed to the system. */
  get flushed(): boolean {
    return this.writableLength === 0 && this.direct?.flushed !== false;
  }

  /** Whether the sender should pause until `drain`. */
  get writableNeedDrain(): boolean {
    return this.stream?.writableNeedDrain === true;
  }

  // Reading.

  /** Begins reading. */
  read(reader: AcceptedReader): void {
    const { handle } = this;
    this.reader = reader;
    this.paused = false;
    if (handle === null) {
      const { socket } = this;
      this.listeners = listen(socket, reader);
      return this.readStream(socket, reader);
    }
    this.buffer = reader.nextBuffer();
    handle[OWNER] = this;
    handle.useUserBuffer(this.buffer);
    handle.onread = onRead;
    this.start(handle);
  }

  private start(handle: AcceptedHandle): void {
    if (this.reading || this.over) return;
    this.reading = true;
    const status = handle.readStart();
    if (status !== 0 && status !== ALREADY_READING) this.destroy();
  }

  pause(): void {
    const { handle } = this;
    this.paused = true;
    if (handle === null) this.direct?.pause();
    else if (this.reading) {
      this.reading = false;
      handle.readStop();
    }
  }

  resume(): void {
    const { handle } = this;
    this.paused = false;
    if (handle === null) this.direct?.resume();
    else this.start(handle);
  }

  /** Returns reading to the stream, paused, so that others can read it. Only its close is still reported here. */
  release(): Socket {
    const { socket, listeners } = this;
    this.direct?.release();
    if (listeners !== null) socket.off('end', listeners.end).off('drain', listeners.drain);
    return socket;
  }

  /** Resumes reading after `release`. */
  resumeReading(): void {
    const { socket, listeners } = this;
    this.direct?.read();
    if (listeners !== null) socket.on('end', listeners.end).on('drain', listeners.drain);
  }

  /** Like `release`, but nothing is reported any more: others are responsible for its errors and its close, too. */
  handOver(): Socket {
    const socket = this.release();
    this.forget();
    return socket;
  }

  /** Stops reporting on a stream that has been released: others are responsible for its errors and its close. */
  forget(): void {
    const { listeners, stream } = this;
    if (listeners !== null) stream?.off('error', listeners.error).off('close', listeners.close);
  }

  /** @returns the buffer for the next read; nothing if it is the same. */
  arrived(length: number): Buffer | undefined {
    const { buffer, reader } = this;
    if (buffer === null || reader === null || this.handle === null) return;
    reader.receive(ReadBuffer.beginning(buffer, length));
    // The stream was given a buffer before the reader was done with this one.
    if (this.handle === null && this.direct !== null) return void this.direct.renewBuffer();
    // TLS may still decrypt what it had read, but nobody reads it.
    if (this.handle === null) return ReadBuffer.common;
    const next = reader.nextBuffer();
    if (next === buffer) return;
    this.buffer = next;
    return next;
  }

  /**
   * The reader has thrown; it may have passed on what is in the buffer. `reader` is the one that it had before.
   * @returns the buffer for the next read.
   */
  faulted(error: unknown, reader: AcceptedReader | null): Buffer {
    this.buffer = ReadBuffer.common;
    reader?.onFault(error);
    return ReadBuffer.common;
  }

  /** A copy of what has just been read. */
  protected copyOf(length: number): Buffer {
    return Buffer.from(this.buffer?.subarray(0, length) ?? []);
  }

  /** The client has ended its side, or the connection has failed. */
  ended(status: number): void {
    this.over = true;
    this.reading = false;
    if (status === END_OF_INPUT) this.reader?.onEnd();
    else this.destroy();
  }

  // Writing. A closed connection discards what is written.

  /** Writes text as Latin-1. @returns false if the sender should pause until `drain`. */
  write(text: string): boolean {
    const handle = this.sinkFor(text.length);
    if (handle === null) return this.direct === null || this.direct.write(text);
    const result = handle.writeLatin1String(null, text);
    return result === 0 || keepBypass(handle, result) || this.adopt(result, text);
  }

  /** Writes bytes, which must stay as they are while the connection holds them. @returns as `write`. */
  writeBytes(bytes: Buffer): boolean {
    const handle = this.sinkFor(bytes.length);
    if (handle === null) return this.direct === null || this.direct.writeBytes(bytes);
    const result = handle.writeBuffer(null, bytes);
    return result === 0 || keepBypass(handle, result) || this.adopt(result, bytes);
  }

  /** Writes text and then bytes, as one piece. @returns as `write`. */
  writeBoth(text: string, bytes: Buffer): boolean {
    const handle = this.sinkFor(text.length + bytes.length);
    if (handle === null) return this.direct === null || this.direct.writeBoth(text, bytes);
    const result = handle.writev(null, [text, 'latin1', bytes, 'buffer'], false);
    return result === 0 || keepBypass(handle, result) || this.adopt(result, bytes);
  }

  /** The handle to which this many bytes may be written now; null if they go through the stream. */
  protected sinkFor(_bytes: number): AcceptedHandle | null {
    return this.handle;
  }

  /** Hands a write that is incomplete or has failed over to the stream. @returns as `write`. */
  protected adopt(result: PendingWrite | number, written: string | Buffer): boolean {
    this.makeStream();
    return this.direct === null || this.direct.adopt(result, written);
  }

  // The end.

  /** Ends our side. `ended` is called when everything has been written. */
  end(ended: () => void): void {
    this.socket.end(ended);
  }

  /** Closes it when everything has been written. */
  destroySoon(): void {
    if (this.stream === null || (this.flushed && !isEncrypted(this.stream))) this.destroy();
    else this.stream.destroySoon();
  }

  destroy(): void {
    const { handle } = this;
    if (handle === null) return void this.stream?.destroy();
    this.handle = null;
    handle.close();
    if (this.reader !== null) process.nextTick(closed, this.reader);
  }

  /** Ends it so that the client detects that the message was truncated: see `cut`. */
  cut(): void {
    const { handle } = this;
    if (handle === null) return void (this.stream !== null && cut(this.stream));
    this.handle = null;
    if (handle.reset?.() !== 0) handle.close();
    if (this.reader !== null) process.nextTick(closed, this.reader);
  }
}

/** The one listener of all connections without a stream. */
function onRead(this: Handle & Owned): Uint8Array | undefined {
  const result = readResult();
  const owner = this[OWNER];
  if (owner == null || result === 0) return undefined;
  // The callback may give the reader up.
  const { reader } = owner;
  beginRead();
  try {
    if (result > 0) return owner.arrived(result);
    owner.ended(result);
  } catch (error) {
    return owner.faulted(error, reader);
  } finally {
    endRead();
  }
  return undefined;
}
