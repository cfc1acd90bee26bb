import type { ServerResponse } from 'node:http';
import type { AdminDependencies } from '../dependencies.ts';

/** How many different texts may wait for their readers. A scraper reads its own within milliseconds. */
const MAX_UNREAD_TEXTS = 8;

type Metrics = NonNullable<AdminDependencies['metrics']>;

/**
 * Answers GET /metrics. With a thousand routes the text takes tens of milliseconds and 2 MB, and at the probe listener anyone may request it
 * any number of times. It is therefore computed once at a time: requests that arrive meanwhile share the next one, and its memory. If too
 * many texts wait for their readers, those of the oldest one are disconnected.
 */
export class MetricsEndpoint {
  private readonly compute: () => Promise<Buffer>;
  private current: Promise<Buffer> | null = null;
  private next: Promise<Buffer> | null = null;
  /** The responses that have not been sent, by their text, the oldest first. */
  private readonly unread = new Map<Buffer, Set<ServerResponse>>();

  constructor(metrics: Metrics, isConnected: (controller: string) => boolean) {
    this.compute = async () => Buffer.from(await metrics.text(isConnected));
  }

  async serve(response: ServerResponse): Promise<void> {
    const text = await this.text();
    // It has been closed, and would be noted for ever.
    if (response.destroyed) return;
    this.note(text, response);
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4', 'content-length': text.length });
    response.end(text);
  }

  private note(text: Buffer, response: ServerResponse): void {
    const readers = this.unread.get(text) ?? new Set();
    this.unread.set(text, readers.add(response));
    response.once('close', () => {
      readers.delete(response);
      if (readers.size === 0) this.unread.delete(text);
    });
    const [oldest = []] = this.unread.size > MAX_UNREAD_TEXTS ? this.unread.values() : [];
    for (const reader of oldest) reader.destroy();
  }

  /** A text that is newer than the call. */
  private text(): Promise<Buffer> {
    if (this.current === null) return this.begin();
    const begin = () => this.begin();
    this.next ??= this.current.then(begin, begin);
    return this.next;
  }

  private begin(): Promise<Buffer> {
    this.next = null;
    const computed = this.compute();
    const ended = () => {
      if (this.next === null) this.current = null;
    };
    this.current = computed;
    computed.then(ended, ended);
    return computed;
  }
}
