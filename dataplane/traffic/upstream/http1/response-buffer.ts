import { type Downstream, type Exchange, SMALL_PIECE } from '../../exchange/exchange.ts';
import { relayBody } from '../../exchange/relay.ts';
import { MAX_COPIED, ReadBuffer } from '../../io/read-buffer.ts';

/** For a client that has more bytes than this to read, short pieces are copied: each would keep a whole buffer. */
const BEHIND = 16_384;

/** The buffers for reading the responses of one connection, whose pieces are passed on to clients. */
export class ResponseBuffer {
  private readonly buffers = new ReadBuffer();
  /** Whether the client has been passed what was last read, rather than a copy. */
  private lends = false;

  /** The buffer for reading a head, or what was not requested. */
  nextOfHead(): Buffer {
    return this.buffers.next(false, false);
  }

  nextOfBody({ bodySent, client }: Exchange): Buffer {
    const { lends } = this;
    this.lends = false;
    return this.buffers.nextOf(bodySent, bodySent - client.unsent, lends);
  }

  /** Passes on a piece of a body. @returns whether the client accepts more. */
  pass(x: Exchange, buffer: Buffer, from: number, to: number): boolean {
    const length = to - from;
    // The client copies it.
    if (length <= SMALL_PIECE) return relayBody(x, buffer, from, to);
    if (ReadBuffer.isShared(buffer) || (length < MAX_COPIED && x.client.unsent > BEHIND))
      return relayBody(x, Buffer.from(buffer.subarray(from, to)), 0, length);
    this.lends = true;
    return relayBody(x, buffer, from, to);
  }

  /** A body has been passed on to this client. */
  bodyEnds(client: Downstream): void {
    this.buffers.bodyEnds(client);
  }
}
