import type { ServerResponse } from 'node:http';
import type { AdminDependencies } from '../dependencies.ts';

type Metrics = NonNullable<AdminDependencies['metrics']>;

/**
 * Answers GET /metrics. With a thousand routes the text takes tens of milliseconds and 2 MB, and at the probe listener anyone may request it
 * any number of times. It is therefore computed once at a time: requests that arrive meanwhile share the next one, and its memory.
 */
export class MetricsEndpoint {
  private readonly compute: () => Promise<Buffer>;
  private current: Promise<Buffer> | null = null;
  private next: Promise<Buffer> | null = null;

  constructor(metrics: Metrics, isConnected: (controller: string) => boolean) {
    this.compute = async () => Buffer.from(await metrics.text(isConnected));
  }

  async serve(response: ServerResponse): Promise<void> {
    const text = await this.text();
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4', 'content-length': text.length });
    response.end(text);
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
