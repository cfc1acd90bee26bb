import type { Socket } from 'node:net';
import { beginRead, endRead } from '../../../shared/runtime/clock.ts';
import { allowBypass, bypassOf, forgetBypass, keepBypass, MAX_BYPASS_BYTES, type Sink, takeBypassResult } from './bypass.ts';
import { type Handle, handleOf, isEncrypted, isGone, type PendingWrite, readResult, systemError, writeError } from './node-handle.ts';
import { ReadBuffer } from './read-buffer.ts';

/** Receives the bytes of a socket. */
export interface DirectReader {
  /** The buffer for the next read. It may be the same as before if its bytes are no longer needed. */
  nextBuffer(): Buffer;
  /** `bytes` are in the last buffer that was returned, or in memory of their own. */
  receive(bytes: Buffer): void;
  /** One of the two has thrown, or the reading itself has. */
  onFault(error: unknown): void;
}

type Write = Socket['_write'];
type WriteCallback = Parameters<Write>[2];

/** The reader of each handle that is read directly. */
const READERS = Symbol('reader');
/** Node's own reaction to reads, which handles errors and the end. */
const STREAM_ONREAD = Symbol('stream onread');
type ReadHandle = Handle & { [READERS]?: DirectSocket; [STREAM_ONREAD]?: Handle['onread'] };

/**
 * Reads and writes a socket's bytes without Node's stream, which would take half of the time that a small message costs. The stream still
 * handles everything else: errors, the end, closing, and writes that the system can't complete at once. If handles are not as expected,
 * everything goes through the stream.
 */
export class DirectSocket {
  readonly socket: Socket;
  private readonly reader: DirectReader;
  private readonly find: (socket: Socket) => Handle | null;
  /** Null while the stream reads. */
  private handle: ReadHandle | null = null;
  /** For writing; null if every write has to go through the stream. */
  private readonly sink: Sink | null;
  private readonly isSecure: boolean;
  private buffer: Buffer | null = null;
  paused = false;
  private over = false;
  /** A write that the stream is about to take over. */
  private dispatched: PendingWrite | number = 0;
  private adopts = false;

  /** The socket must be connected. `find` finds its handle. */
  constructor(socket: Socket, reader: DirectReader, find = handleOf) {
    this.socket = socket;
    this.reader = reader;
    this.find = find;
    this.sink = find(socket);
    this.isSecure = isEncrypted(socket);
    if (this.isSecure && this.sink !== null) allowBypass(this.sink);
  }

  // Reading.

  /** Begins reading, with the bytes that the stream has read already. */
  read(): void {
    const { socket } = this;
    const handle: ReadHandle | null = this.find(socket);
    this.paused = false;
    if (handle === null) return void socket.on('data', this.receive).resume();
    // A flowing stream would discard the bytes that it holds.
    if (socket.readableFlowing === true) socket.pause();
    this.handle = handle;
    handle[READERS] = this;
    // Another reader may have had it before.
    handle[STREAM_ONREAD] ??= handle.onread;
    if (this.buffer === null) {
      this.buffer = this.reader.nextBuffer();
      handle.useUserBuffer(this.buffer);
      handle.onread = onRead;
    }
    this.readOn(handle);
  }

  private readOn(handle: Handle): void {
    if (this.socket.readableLength > 0) process.nextTick(this.deliver);
    // The stream reports the end only while it flows.
    else if (this.over) this.socket.resume();
    else this.start(handle);
  }

  private start(handle: Handle): void {
    if (handle.reading || this.over || this.socket.destroyed) return;
    handle.reading = true;
    const status = handle.readStart();
    if (status !== 0) this.socket.destroy(systemError(status, 'read'));
  }

  private stop(handle: Handle): void {
    if (!handle.reading) return;
    handle.reading = false;
    handle.readStop();
  }

  private readonly receive = (bytes: Buffer): void => {
    try {
      this.reader.receive(bytes);
    } catch (error) {
      this.onFault(error);
    }
  };

  /** Passes on what the stream holds, because it was read before `read` or while paused. */
  private readonly deliver = (): void => {
    const { socket, handle } = this;
    if (this.paused || handle === null || socket.destroyed) return;
    try {
      const bytes: Buffer | null = socket.read();
      if (bytes !== null) this.reader.receive(bytes);
      this.renewBuffer();
      if (!this.paused && this.handle === handle && !socket.destroyed) this.readOn(handle);
    } catch (error) {
      this.onFault(error);
    }
  };

  /** The reader may have given up the last buffer, although nothing was read into it: another connection then reads into that one. */
  renewBuffer(): void {
    const { handle } = this;
    if (handle === null || this.socket.destroyed) return;
    const next = this.reader.nextBuffer();
    if (next === this.buffer) return;
    this.buffer = next;
    handle.useUserBuffer(next);
  }

  onFault(error: unknown): void {
    this.reader.onFault(error);
  }

  /** The reader has thrown; it may have passed on what is in the buffer. @returns the buffer for what TLS has yet to decrypt. */
  faulted(error: unknown): Buffer {
    this.buffer = ReadBuffer.common;
    this.onFault(error);
    return ReadBuffer.common;
  }

  pause(): void {
    const { handle } = this;
    this.paused = true;
    if (handle === null) this.socket.pause();
    else this.stop(handle);
  }

  resume(): void {
    const { handle } = this;
    if (!this.paused) return;
    this.paused = false;
    if (handle === null) this.socket.resume();
    else this.readOn(handle);
  }

  /** Returns reading to the stream, paused. */
  release(): void {
    const { socket, handle } = this;
    this.paused = true;
    this.handle = null;
    socket.pause();
    if (handle === null) socket.off('data', this.receive);
    // The stream asks for more only after it has received what it last asked for.
    else if (!socket.destroyed) this.start(handle);
  }

  /** @returns the buffer for the next read. */
  arrived(length: number): Buffer | undefined {
    const { buffer, handle, socket } = this;
    if (buffer === null || socket.destroyed) return;
    if (handle === null || this.paused) {
      this.push(Buffer.from(buffer.subarray(0, length)));
      return;
    }
    this.reader.receive(ReadBuffer.beginning(buffer, length));
    const next = this.reader.nextBuffer();
    if (next === buffer) return;
    this.buffer = next;
    return next;
  }

  /** The socket is paused, or read by others: TLS may still decrypt what it had read. */
  private push(bytes: Buffer): void {
    const { socket } = this;
    const handle = this.find(socket);
    if (!socket.push(bytes) && handle !== null) this.stop(handle);
  }

  /** An error or the end: the stream reports it. */
  ended(handle: ReadHandle): void {
    this.over = true;
    if (this.isSecure && isGone(handle)) return void this.socket.destroy();
    handle[STREAM_ONREAD]?.call(handle);
    if (this.handle !== null && !this.paused) this.readOn(handle);
  }

  // Writing.

  /** Writes text as Latin-1. @returns false if the sender should pause until the socket's `drain`. */
  write(text: string): boolean {
    const sink = this.sinkFor(text.length);
    if (sink === null) return this.socket.write(text, 'latin1');
    const result = sink.writeLatin1String(null, text);
    return result === 0 || keepBypass(sink, result) || this.adopt(result, text);
  }

  /** Writes bytes, which must stay as they are while the socket holds them. @returns as `write`. */
  writeBytes(bytes: Buffer): boolean {
    const sink = this.sinkFor(bytes.length);
    if (sink === null) return this.socket.write(bytes);
    const result = sink.writeBuffer(null, bytes);
    return result === 0 || keepBypass(sink, result) || this.adopt(result, bytes);
  }

  /** Writes text and then bytes, as one piece. @returns as `write`. */
  writeBoth(text: string, bytes: Buffer): boolean {
    const { socket } = this;
    const sink = this.sinkFor(text.length + bytes.length);
    if (sink !== null) {
      const result = sink.writev(null, [text, 'latin1', bytes, 'buffer'], false);
      return result === 0 || keepBypass(sink, result) || this.adopt(result, bytes);
    }
    socket.cork();
    socket.write(text, 'latin1');
    const more = socket.write(bytes);
    socket.uncork();
    return more;
  }

  /** Writes several pieces of bytes as one. @returns as `write`. */
  writeParts(parts: readonly Buffer[]): boolean {
    const { socket } = this;
    const [first] = parts;
    if (parts.length === 1 && first !== undefined) return this.writeBytes(first);
    let more = true;
    socket.cork();
    for (const part of parts) more = socket.write(part);
    socket.uncork();
    return more;
  }

  /** Whether everything that was written has left the stream and TLS. */
  get flushed(): boolean {
    return this.socket.writableLength === 0 && !this.isBypassPending();
  }

  /** The handle to which this many bytes may be written directly; null if they have to wait for earlier ones, or the stream has ended. */
  private sinkFor(bytes: number): Sink | null {
    if ((bytes > MAX_BYPASS_BYTES && this.isSecure) || !this.flushed || !this.socket.writable) return null;
    if (this.isSecure) this.adoptWrites();
    return this.sink;
  }

  /** The write over TLS that bypasses the stream, whether by this object or by another for the same socket. */
  private get bypass(): PendingWrite | null {
    return this.isSecure && this.sink !== null ? bypassOf(this.sink) : null;
  }

  private endBypass(): void {
    if (this.sink !== null) forgetBypass(this.sink);
  }

  private isBypassPending(): boolean {
    if (!this.isSecure || this.sink === null) return false;
    const status = takeBypassResult(this.sink);
    if (status !== null && status < 0) this.socket.destroy(systemError(status, 'write'));
    return status === null;
  }

  /** Hands over to the stream a write that is incomplete or has failed. @returns as `write`. */
  adopt(result: PendingWrite | number, written: string | Buffer): boolean {
    this.adoptWrites();
    this.dispatched = typeof result === 'number' ? result : writeError() || result;
    return this.socket.write(written, 'latin1');
  }

  /** Replaces the stream's `_write`, `_writev` and `_final`. Code that replaces them as well has to call this first. */
  adoptWrites(): void {
    if (this.adopts) return;
    this.adopts = true;
    const { socket } = this;
    const { _write: write, _writev: writev, _final: final } = socket;
    socket._write = (chunk: unknown, encoding, written): void => {
      const { dispatched } = this;
      this.dispatched = 0;
      this.attempt(() => {
        if (dispatched === 0) this.afterBypass(written, () => write.call(socket, chunk, encoding, written));
        else if (typeof dispatched === 'number') written(systemError(dispatched, 'write'));
        else this.completes(dispatched, chunk, written);
      });
    };
    if (writev !== undefined)
      socket._writev = (chunks, written): void => this.attempt(() => this.afterBypass(written, () => writev.call(socket, chunks, written)));
    socket._final = (ended): void => this.attempt(() => this.afterBypass(ended, () => final.call(socket, ended)));
  }

  /**
   * Contains exceptions in code that Node's stream or the handle calls: the stream would take one for an error of the connection, and the
   * handle would report it to nothing in particular. The owner may be in the middle of a write, so it is notified in the next tick. The
   * stream would wait for that write forever, so it is destroyed.
   */
  private attempt(act: () => void): void {
    try {
      act();
    } catch (error) {
      process.nextTick(() => {
        this.onFault(error);
        this.socket.destroy();
      });
    }
  }

  /** Continues once the write that bypassed the stream is complete, or passes on its error. */
  private afterBypass(failed: WriteCallback, then: () => void): void {
    const { bypass } = this;
    if (bypass === null) return then();
    const complete = (status: number): void => {
      this.endBypass();
      if (status < 0) failed(systemError(status, 'write'));
      else then();
    };
    if (bypass.writeStatus === null) bypass.oncomplete = (status) => this.attempt(() => complete(status));
    else complete(bypass.writeStatus);
  }

  /** Notifies the stream when a write that it has taken over is complete. */
  private completes(write: PendingWrite, chunk: unknown, written: WriteCallback): void {
    const complete = (status: number): void => written(status < 0 ? systemError(status, 'write') : null);
    if (write.writeStatus === null) Object.assign(write, { oncomplete: (status: number) => this.attempt(() => complete(status)), chunk });
    else complete(write.writeStatus);
  }
}

/** The one listener of all handles that are read directly. */
function onRead(this: ReadHandle): Uint8Array | undefined {
  const result = readResult();
  const direct = this[READERS];
  if (direct === undefined || result === 0) return undefined;
  beginRead();
  try {
    if (result > 0) return direct.arrived(result);
    direct.ended(this);
  } catch (error) {
    return direct.faulted(error);
  } finally {
    endRead();
  }
  return undefined;
}
