import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { until } from '../../../shared/runtime/testing/until.ts';

/** A failed request: the error, when it was sent (ms since the load began) and when it failed. */
type Failure = { readonly at: number; readonly ended: string; readonly what: string };

type Options = {
  readonly port: number;
  readonly host: string;
  /** The app that must respond. */
  readonly app: string;
  readonly perSecond?: number;
  /** Every this many requests, one is a POST with a small body; 0 for none. */
  readonly postEvery?: number;
};

/** A steady load on kept connections that counts failed requests and responses from the wrong app. */
export class Load {
  sent = 0;
  answered = 0;
  slowestMs = 0;
  readonly failures: Failure[] = [];
  /** Number of responses per container, by its short id. */
  readonly by = new Map<string, number>();
  private readonly options: Options;
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 256, scheduling: 'lifo' });
  private readonly began = performance.now();
  /** Requests that have not ended, by their number. */
  private readonly open = new Set<number>();
  private readonly timer: NodeJS.Timeout;

  constructor(options: Options) {
    this.options = options;
    this.timer = setInterval(() => this.catchUp(), 5);
  }

  /** Waits until this many more requests have been answered. */
  async answers(count: number, withinMs = 60_000): Promise<void> {
    const goal = this.answered + count;
    await until(`${count} more answers for ${this.options.host}: ${this.problems}`, () => this.answered >= goal, withinMs);
  }

  /** Waits until every request that has been sent by now has ended. */
  async settled(): Promise<void> {
    const { sent } = this;
    await until(`the requests in flight for ${this.options.host} to end`, () => [...this.open].every((number) => number >= sent));
  }

  /** Waits until this container responds. */
  async answeredBy(shortId: string, withinMs = 60_000): Promise<void> {
    const before = this.by.get(shortId) ?? 0;
    await until(`an answer of ${shortId}: ${this.problems}`, () => (this.by.get(shortId) ?? 0) > before, withinMs);
  }

  /** Stops sending and waits for requests in flight. @returns the results to assert on. */
  async end(): Promise<{ sent: number; failures: readonly Failure[] }> {
    clearInterval(this.timer);
    await until('the last answers', () => this.answered + this.failures.length >= this.sent);
    this.agent.destroy();
    await wait(0);
    return { sent: this.sent, failures: this.failures };
  }

  [Symbol.dispose](): void {
    clearInterval(this.timer);
    this.agent.destroy();
  }

  get host(): string {
    return this.options.host;
  }

  private get problems(): string {
    return JSON.stringify(this.failures.slice(0, 3));
  }

  /** Sends as many as the rate requires by now: a busy machine may delay requests, but none are skipped. */
  private catchUp(): void {
    const { perSecond = 200 } = this.options;
    const due = Math.floor(((performance.now() - this.began) * perSecond) / 1_000);
    for (let count = Math.min(due - this.sent, perSecond / 10); count > 0; count--) this.send();
  }

  private send(): void {
    const { port, host, postEvery = 0 } = this.options;
    const at = performance.now();
    const post = postEvery > 0 && this.sent % postEvery === 0;
    const number = this.sent++;
    this.open.add(number);
    const headers = { host, ...(post && { 'content-length': '4' }) };
    const request = httpRequest({ host: '127.0.0.1', port, path: '/', method: post ? 'POST' : 'GET', headers, agent: this.agent });
    request.once('close', () => this.open.delete(number));
    request.once('error', (error) => this.failed(at, `${request.method}: ${error.message}`));
    request.once('response', (response) => {
      let text = '';
      response.setEncoding('latin1').on('data', (piece: string) => {
        text += piece;
      });
      response.once('error', (error) => this.failed(at, `cut answer: ${error.message}`));
      response.once('end', () => this.judge(at, response.statusCode ?? 0, text.trim(), request.method));
    });
    request.end(post ? 'body' : undefined);
  }

  private judge(at: number, status: number, text: string, method: string): void {
    const [app, instance = ''] = text.split(' ');
    if (status !== 200) return this.failed(at, `${method}: ${status}`);
    if (app !== this.options.app) return this.failed(at, `${method}: answer of ${app}`);
    this.answered++;
    this.slowestMs = Math.max(this.slowestMs, performance.now() - at);
    this.by.set(instance, (this.by.get(instance) ?? 0) + 1);
  }

  private failed(at: number, what: string): void {
    this.failures.push({ at: Math.round(at - this.began), ended: new Date().toISOString(), what });
  }
}
