import { DEFAULT_WINDOW, ERROR, FLAG, FRAME_HEADER, MAX_FRAME, MAX_WINDOW, TYPE, writeFrameHeader } from './frames/frame.ts';
import { HpackEncoder } from './hpack/encoder.ts';
import type { OutgoingHead } from './outgoing-head.ts';
import { Output } from './output.ts';
import type { Http2Stream } from './stream.ts';

/** Gathered frames beyond this many bytes are written at once, even within a turn. */
const HIGH_WATER = 65_536;
/** Bytes of frames that may be written to a peer that does not read. */
const MAX_UNREAD = 65_536;
const NO_CONTENT = 204;
/** More characters than `:status` and `content-length` have with their values. */
const OWN_FIELDS = 64;

/** Sends bytes. @returns false when nothing more should be sent until it is `drained`. */
export type Write = (parts: readonly Buffer[]) => boolean;

/**
 * What a connection sends: the frames of all of its streams, gathered into one write per turn. A stream whose bytes can't be sent at
 * once is queued here, and the most urgent one is sent first (RFC 9218 10).
 */
export class Sender {
  readonly output = new Output();
  /** Bytes of DATA that may be sent on all streams. */
  window = DEFAULT_WINDOW;
  /** Bytes of DATA that have been sent on all streams. */
  sent = 0;
  private readonly encoder = new HpackEncoder();
  private readonly write: Write;
  private queue: Http2Stream[] = [];
  private blocked = false;
  /** Bytes written since the peer stopped reading. */
  private unread = 0;

  constructor(write: Write) {
    this.write = write;
  }

  /** Whether something that isn't queued can be sent at once. It must not use up the window that queued streams wait for. */
  get writable(): boolean {
    return !this.blocked && (this.queue.length === 0 || this.next() < 0);
  }

  limitTable(bytes: number): void {
    this.encoder.limitTable(bytes);
  }

  /** RFC 9113 6.9.1. @returns false if the window would exceed its limit. */
  openWindow(bytes: number): boolean {
    this.window += bytes;
    return this.window <= MAX_WINDOW;
  }

  head(stream: Http2Stream, { status, pseudo, lines, length }: OutgoingHead, ends: boolean): void {
    const { output, encoder } = this;
    let characters = lines.length + OWN_FIELDS;
    if (pseudo !== null) for (const text of pseudo) characters += text.length;
    const out = output.room(FRAME_HEADER + HpackEncoder.maxBytes(characters));
    const start = output.at;
    const from = start + FRAME_HEADER;
    let end = encoder.begin(out, from);
    if (status !== 0) end = encoder.status(out, end, status);
    if (pseudo !== null)
      for (let at = 0; at < pseudo.length; at += 2) end = encoder.field(out, end, pseudo[at] as string, pseudo[at + 1] as string);
    end = encoder.lines(out, end, lines);
    if (length >= 0 && status !== NO_CONTENT) end = encoder.field(out, end, 'content-length', `${length}`);
    if (end - from > MAX_FRAME) this.splitBlock(stream.id, ends, Buffer.from(out.subarray(from, end)));
    else {
      writeFrameHeader(out, start, end - from, TYPE.headers, FLAG.endHeaders | (ends ? FLAG.endStream : 0), stream.id);
      output.wrote(end);
    }
    this.gathered(stream, ends);
  }

  /** RFC 9113 6.10. */
  private splitBlock(stream: number, ends: boolean, block: Buffer): void {
    for (let at = 0; at < block.length; at += MAX_FRAME) {
      const whole = at + MAX_FRAME >= block.length ? FLAG.endHeaders : 0;
      const flags = at === 0 ? whole | (ends ? FLAG.endStream : 0) : whole;
      this.output.frameOf(at === 0 ? TYPE.headers : TYPE.continuation, flags, stream, block.subarray(at, at + MAX_FRAME));
    }
  }

  data(stream: Http2Stream, ends: boolean, buffer: Buffer, from: number, to: number): void {
    this.sent += to - from;
    for (let at = from; at < to; at += MAX_FRAME) {
      const end = Math.min(to, at + MAX_FRAME);
      this.output.data(stream.id, ends && end === to, buffer, at, end);
    }
    this.gathered(stream, ends);
  }

  end(stream: Http2Stream): void {
    if (!this.output.endWithLastData(stream.id)) this.output.frame(TYPE.data, FLAG.endStream, stream.id);
    this.gathered(stream, true);
  }

  private gathered(stream: Http2Stream, ends: boolean): void {
    if (ends) stream.endOutput();
    if (this.output.length >= HIGH_WATER) this.send();
  }

  enqueue(stream: Http2Stream): void {
    if (stream.isQueued) return;
    stream.isQueued = true;
    this.queue.push(stream);
  }

  /** The peer reads again. */
  drained(): void {
    this.blocked = false;
    this.unread = 0;
  }

  /** Sends what has been gathered, and of the queue as much as the windows and the connection accept. */
  flush(): void {
    while (!this.blocked) {
      const at = this.next();
      if (at < 0) break;
      this.sendNext(at);
    }
    if (this.output.length > 0) this.send();
  }

  /** The place in the queue of the stream that is to send next; -1 if none can. */
  private next(): number {
    const { queue } = this;
    let best = -1;
    let urgency = Number.POSITIVE_INFINITY;
    for (let at = 0; at < queue.length; at++) {
      const stream = queue[at] as Http2Stream;
      if (stream.priority.urgency < urgency && stream.ready) {
        best = at;
        ({ urgency } = stream.priority);
      }
    }
    return best;
  }

  private sendNext(at: number): void {
    const { queue } = this;
    const stream = queue[at] as Http2Stream;
    const more = stream.sendNext(MAX_FRAME);
    // Incremental streams take turns; of the others, the first is finished first. A stream that has closed is no longer in the queue.
    if ((more && !stream.priority.incremental) || !stream.isQueued) return;
    queue.splice(queue.indexOf(stream), 1);
    if (more) queue.push(stream);
    else stream.isQueued = false;
  }

  /** The stream has closed. */
  dequeue(stream: Http2Stream): void {
    if (!stream.isQueued) return;
    stream.isQueued = false;
    this.queue.splice(this.queue.indexOf(stream), 1);
  }

  private send(): void {
    if (this.blocked) this.unread += this.output.length;
    if (!this.write(this.output.drain())) this.blocked = true;
  }

  /** Whether too much was written to a peer that does not read: replies to its frames, which no window limits. */
  get isStuck(): boolean {
    return this.unread > MAX_UNREAD;
  }

  /** The last thing that is sent (RFC 9113 6.8). */
  goAway(lastStream: number, code: number, reason: string): void {
    const text = code === ERROR.none ? '' : reason;
    const payload = Buffer.alloc(8 + text.length);
    payload.writeUInt32BE(lastStream, 0);
    payload.writeUInt32BE(code, 4);
    payload.write(text, 8, 'latin1');
    this.output.frameOf(TYPE.goAway, 0, 0, payload);
  }
}
