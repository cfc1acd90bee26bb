import type { Socket } from 'node:net';
import { type AcceptedReader, closed } from './accepted-reader.ts';
import { AcceptedSocket } from './accepted-socket.ts';
import { allowBypass, bypassOf, MAX_BYPASS_BYTES, takeBypassResult } from './bypass.ts';
import { type AcceptedHandle, isGone, notifyOfClose } from './node-handle.ts';
import type { ServerTls, TlsOwner } from './server-tls.ts';

/**
 * An accepted connection whose TLS handshake has just been completed. As without TLS, it gets a stream only in uncommon cases: for a write
 * while another one is incomplete, for a large one, for a half-close, and on request.
 */
export class AcceptedTls extends AcceptedSocket implements TlsOwner {
  private readonly tls: ServerTls;
  /** Whether it is about to be closed without a stream. */
  private ending = false;

  constructor(tls: ServerTls) {
    super(tls.handle, null, true);
    this.tls = tls;
    allowBypass(tls.handle);
  }

  protected override makeStream(): Socket {
    const socket = super.makeStream();
    // It may have to wait for a write that it doesn't know of.
    this.direct?.adoptWrites();
    // TLS reports the end only once.
    if (this.over) {
      socket.push(null);
      socket.resume();
    }
    if (this.ending) socket.destroySoon();
    return socket;
  }

  /** From now on the stream reports the end. */
  protected override streamOf(_handle: AcceptedHandle): Socket {
    this.tls.owner = null;
    return this.tls.socket;
  }

  // Reading.

  /** From now on, its events are reported here and no longer to the handshake. */
  override read(reader: AcceptedReader): void {
    if (this.handle !== null) this.tls.owner = this;
    super.read(reader);
  }

  override arrived(length: number): Buffer | undefined {
    if (!this.paused) return super.arrived(length);
    // TLS still decrypts what it had read.
    const bytes = this.copyOf(length);
    this.socket.push(bytes);
    return undefined;
  }

  override ended(status: number): void {
    if (this.handle !== null && isGone(this.handle)) this.destroy();
    else super.ended(status);
  }

  // Writing.

  override get flushed(): boolean {
    const write = this.handle && bypassOf(this.handle);
    return write === null ? super.flushed : write.writeStatus !== null;
  }

  protected override sinkFor(bytes: number): AcceptedHandle | null {
    const { handle } = this;
    if (handle === null || this.ending) return null;
    const status = takeBypassResult(handle);
    if (status === 0 && bytes <= MAX_BYPASS_BYTES) return handle;
    if (status !== null && status < 0) this.destroy();
    else this.makeStream();
    return null;
  }

  // The end.

  override destroySoon(): void {
    const { handle } = this;
    if (handle === null) return super.destroySoon();
    if (this.ending) return;
    this.ending = true;
    const write = bypassOf(handle);
    if (write === null || write.writeStatus !== null) this.close();
    else write.oncomplete = () => this.closeGuarded();
  }

  /** RFC 8446 6.1: without close_notify, the client could not tell that nothing is missing. */
  private close(): void {
    if (this.handle === null) return;
    notifyOfClose(this.tls.handle);
    this.destroy();
  }

  private closeGuarded(): void {
    try {
      this.close();
    } catch (error) {
      this.onFault(error);
      this.destroy();
    }
  }

  override destroy(): void {
    if (this.handle === null) return super.destroy();
    this.handle = null;
    this.tls.destroy();
  }

  /** Over TLS, a message is truncated if close_notify is missing. */
  override cut(): void {
    if (this.handle === null) super.cut();
    else this.destroy();
  }

  // Events of TLS.

  failed(): void {
    this.handle = null;
  }

  closed(): void {
    this.handle = null;
    if (this.reader !== null) closed(this.reader);
  }

  onFault(error: unknown): void {
    if (this.reader === null) this.destroy();
    else this.reader.onFault(error);
  }
}
