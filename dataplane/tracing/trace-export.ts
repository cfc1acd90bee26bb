import { hostname } from 'node:os';
import { NAME } from '../../shared/name.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Log } from '../../shared/runtime/log/log.ts';
import { type LinesEnded, LineThread } from '../ledger/line-thread.ts';
import { envelopeOf } from './envelope.ts';
import type { OtlpDestination } from './otlp-request.ts';

export type ExportThreadData = {
  readonly spans: SharedArrayBuffer;
  readonly destination: OtlpDestination;
  readonly userAgent: string;
  readonly envelope: readonly [before: string, after: string];
};

export type ToExportThread = { readonly kind: 'end' };
type ExportMessage = { readonly kind: 'state'; readonly failure: string | null };
export type FromExportThread = ExportMessage | LinesEnded;

/** The TypeScript source in the repository, the compiled file in `dist/`. */
const ENTRY = new URL(`./export-thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);

export type TraceExportOptions = OtlpDestination & { readonly serviceName: string; readonly version: string };
type TraceExportTools = { readonly clock: Clock; readonly log: Log };

/** The export of traces as the main thread sees it: starts the thread that sends spans, and reports failures. */
export class TraceExport {
  private readonly options: TraceExportOptions | null;
  private readonly log: Log;
  /** null: nothing is traced. */
  private readonly thread: LineThread<ToExportThread, ExportMessage> | null;
  /** Why spans can't be delivered now, and why they last could not. */
  private failure: string | null = null;
  private lastFailure: string | null = null;

  /** `options` null: nothing is traced. */
  constructor(spans: SharedArrayBuffer, options: TraceExportOptions | null, tools: TraceExportTools) {
    this.options = options;
    this.log = tools.log;
    this.thread =
      options &&
      new LineThread({
        ...tools,
        ...{ entry: ENTRY, workerData: threadData(spans, options), lines: spans },
        receive: (message) => this.receive(message),
        exited: () => {
          this.failure = null;
        },
        restarted: 'the thread that sends spans ended and is being restarted',
        lost: 'spans were lost: the collector is slower than the traffic, or fails',
        whyLost: () => (this.lastFailure === null ? {} : { error: this.lastFailure }),
      });
  }

  /** Starts sending, if requests are traced. */
  start(): void {
    this.thread?.start();
  }

  /** Sends the remaining spans of the workers; call it when they have ended. */
  async end(): Promise<void> {
    await this.thread?.end({ kind: 'end' });
  }

  /** The current problems, one line each. */
  get warnings(): string[] {
    return this.failure === null ? [] : [`spans can't be sent to ${this.options?.url}: ${this.failure}`];
  }

  /** Spans that were lost since the process started. */
  get lost(): number {
    return this.thread?.lost ?? 0;
  }

  private receive({ failure }: ExportMessage): void {
    const before = this.failure;
    this.failure = failure;
    this.lastFailure = failure ?? this.lastFailure;
    const to = this.options?.url;
    if (failure === null) this.log.info({ to }, 'spans can be sent again');
    else if (before === null) this.log.warn({ to, error: failure }, "spans can't be sent");
  }
}

const threadData = (spans: SharedArrayBuffer, { url, headers, serviceName, version }: TraceExportOptions): ExportThreadData => ({
  spans,
  destination: { url, headers },
  userAgent: `${NAME}/${version}`,
  envelope: envelopeOf({ serviceName, version, host: hostname(), pid: process.pid }),
});
