import { eventually } from '../../testing/proxy/test-proxy.ts';
import type { AcceptedReader } from '../accepted-reader.ts';

const BUFFER = Buffer.allocUnsafeSlow(65_536);

/** Records of TLS that arrive together, so that the last are decrypted after the first has been received. */
export const RECORDS = ['A', 'B', 'C'].map((letter) => letter.repeat(16_384));

/** Keeps what it reads as text, and each event by its name. */
export class EventsReader implements AcceptedReader {
  readonly events: string[] = [];
  text = '';
  onReceive: () => void = () => undefined;

  nextBuffer(): Buffer {
    return BUFFER;
  }

  receive(bytes: Buffer): void {
    this.text += bytes.toString('latin1');
    this.onReceive();
  }

  onFault(error: unknown): void {
    this.events.push(String(error));
  }

  onDrain(): void {
    this.events.push('drain');
  }

  onEnd(): void {
    this.events.push('end');
  }

  onClose(): void {
    this.events.push('close');
  }

  /** Keeps the first piece and asks for another buffer from then on. @returns the piece. */
  keepsFirst(then: () => void): () => string {
    let first: Buffer | null = null;
    let next = BUFFER;
    this.nextBuffer = () => next;
    this.receive = (bytes) => {
      this.text += bytes.toString('latin1');
      if (first !== null) return;
      first = bytes;
      next = Buffer.allocUnsafeSlow(65_536);
      then();
    };
    return () => String(first);
  }

  reads(text: string): Promise<void> {
    return eventually(`${text.length} bytes`, () => this.text === text);
  }

  has(event: string): Promise<void> {
    return eventually(event, () => this.events.includes(event));
  }
}
