import { hostname } from 'node:os';
import { NAME } from '../../shared/name.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { sleep } from '../../shared/runtime/clock.ts';
import type { Log } from '../../shared/runtime/log/log.ts';
import { startThread, type Thread } from '../../shared/runtime/start-thread.ts';
import { LineRings } from '../ledger/line-ring.ts';
import { envelopeOf } from './envelope.ts';
import type { OtlpDestination } from './otlp-request.ts';

export type ExportThreadData = {
  readonly spans: SharedArrayBuffer;
  readonly destination: OtlpDestination;
  readonly userAgent: string;
  readonly envelope: readonly [before: string, after: string];
};

export type ToExportThread = { readonly kind: 'end' };
export type FromExportThread = { readonly kind: 'state'; readonly failure: string | null } | { readonly kind: 'ended' };

/** How often lost spans are looked for, and at most how often they are logged (ms). */
const COUNT_MS = 10_000;
const LOST_MS = 60_000;
/** How long the last spans may take when the process ends (ms). */
const END_MS = 2_000;
const RESTART_MS = 1_000;

/** The TypeScript source in the repository, the compiled file in `dist/`. */
const ENTRY = new URL(`./export-thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);

export type TraceExportOptions = OtlpDestination & { readonly serviceName: string; readonly version: string };
type TraceExportTools = { readonly clock: Clock; readonly log: Log };

/** The export of traces as the main thread sees it: starts the thread that sends spans, and reports failures. */
export class TraceExport {
  private readonly spans: SharedArrayBuffer;
  private readonly rings: LineRings;
  private readonly options: TraceExportOptions | null;
  private readonly tools: TraceExportTools;
  private thread: Thread | null = null;
  /** Why spans can't be delivered now, and why they last could not. */
  private failure: string | null = null;
  private lastFailure: string | null = null;
  private ending = false;
  private ended: () => void = () => undefined;
  private stopCounting: () => void = () => undefined;
  private lostSaid = 0;
  private saidAt = Number.NEGATIVE_INFINITY;

  /** `options` null: nothing is traced. */
  constructor(spans: SharedArrayBuffer, options: TraceExportOptions | null, tools: TraceExportTools) {
    this.spans = spans;
    this.rings = new LineRings(spans);
    this.options = options;
    this.tools = tools;
  }

  /** Starts sending, if requests are traced. */
  start(): void {
    const { options } = this;
    if (options === null || this.thread !== null || this.ending) return;
    const { url, headers, serviceName, version } = options;
    const workerData: ExportThreadData = {
      spans: this.spans,
      destination: { url, headers },
      userAgent: `${NAME}/${version}`,
      envelope: envelopeOf({ serviceName, version, host: hostname(), pid: process.pid }),
    };
    const thread = startThread(ENTRY, { workerData });
    thread.unref();
    this.thread = thread;
    let fault = '';
    thread.on('message', (message: FromExportThread) => this.receive(message));
    thread.on('error', (error) => {
      fault = error instanceof Error ? (error.stack ?? error.message) : String(error);
    });
    thread.on('exit', () => this.exited(fault));
    this.stopCounting();
    this.stopCounting = this.tools.clock.every(COUNT_MS, () => this.count());
  }

  /** Sends the remaining spans of the workers; call it when they have ended. */
  async end(): Promise<void> {
    this.ending = true;
    this.stopCounting();
    const { thread } = this;
    if (thread !== null) {
      const ended = new Promise<void>((resolve) => {
        this.ended = resolve;
      });
      thread.postMessage({ kind: 'end' } satisfies ToExportThread);
      await Promise.race([ended, sleep(this.tools.clock, END_MS)]);
    }
    this.saidAt = Number.NEGATIVE_INFINITY;
    this.count();
  }

  /** The current problems, one line each. */
  get warnings(): string[] {
    return this.failure === null ? [] : [`spans can't be sent to ${this.options?.url}: ${this.failure}`];
  }

  /** Spans that were lost since the process started. */
  get lost(): number {
    return this.rings.lost();
  }

  private receive(message: FromExportThread): void {
    if (message.kind === 'ended') return this.ended();
    const { log } = this.tools;
    const before = this.failure;
    this.failure = message.failure;
    this.lastFailure = message.failure ?? this.lastFailure;
    const to = this.options?.url;
    if (message.failure === null) log.info({ to }, 'spans can be sent again');
    else if (before === null) log.warn({ to, error: message.failure }, "spans can't be sent");
  }

  private exited(fault: string): void {
    this.thread = null;
    this.failure = null;
    if (this.ending) return this.ended();
    this.tools.log.error({ error: fault }, 'the thread that sends spans ended and is being restarted');
    this.tools.clock.after(RESTART_MS, () => this.start());
  }

  private count(): void {
    const { clock, log } = this.tools;
    const { lost } = this;
    if (lost === this.lostSaid || clock.monotonic() - this.saidAt < LOST_MS) return;
    const why = this.lastFailure !== null && { error: this.lastFailure };
    log.warn({ lost: lost - this.lostSaid, ...why }, 'spans were lost: the collector is slower than the traffic, or fails');
    this.lostSaid = lost;
    this.saidAt = clock.monotonic();
  }
}
