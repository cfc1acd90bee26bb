import { eventually } from '../../testing/proxy/test-proxy.ts';
import type { AcceptedReader } from '../accepted-socket.ts';

const BUFFER = Buffer.allocUnsafeSlow(65_536);

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

  reads(text: string): Promise<void> {
    return eventually(`${text.length} bytes`, () => this.text === text);
  }

  has(event: string): Promise<void> {
    return eventually(event, () => this.events.includes(event));
  }
}
