import type { Clock } from '../../shared/runtime/clock.ts';
import type { Log } from '../../shared/runtime/log/log.ts';
import { type LinesEnded, LineThread } from '../ledger/line-thread.ts';
import type { OutputReport } from './log-writer.ts';

export type ToLogThread = { readonly kind: 'reopen' | 'end' };
type LogMessage = { readonly kind: 'reopened' } | ({ readonly kind: 'output' } & OutputReport);
export type FromLogThread = LogMessage | LinesEnded;

/** The TypeScript source in the repository, the compiled file in `dist/`. */
const ENTRY = new URL(`./log-thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);

type AccessLogTools = { readonly clock: Clock; readonly log: Log };

/** The access log as the main thread sees it: starts the thread that writes it when a worker has a line, and reports failures. */
export class AccessLog {
  private readonly log: Log;
  private readonly thread: LineThread<ToLogThread, LogMessage>;
  private readonly failures = new Map<string, string>();

  constructor(lines: SharedArrayBuffer, tools: AccessLogTools) {
    this.log = tools.log;
    this.thread = new LineThread({
      ...tools,
      ...{ entry: ENTRY, workerData: lines, lines },
      receive: (message) => this.receive(message),
      exited: () => this.failures.clear(),
      restarted: 'the thread of the access log ended and is being restarted',
      lost: 'lines of the access log were lost: its output is slower than the traffic, or fails',
    });
  }

  /** Starts writing, if that has not begun. */
  start(): void {
    this.thread.start();
  }

  /** Begins new files in place of those that were renamed. */
  reopen(): void {
    this.thread.post({ kind: 'reopen' });
  }

  /** Writes the remaining lines of the workers; call it when they have ended. */
  end(): Promise<void> {
    return this.thread.end({ kind: 'end' });
  }

  /** What can't be written, one line each. */
  get warnings(): string[] {
    return [...this.failures].map(([output, failure]) => `the access log ${output} can't be written: ${failure}`);
  }

  /** Lines that were lost since the process started. */
  get lost(): number {
    return this.thread.lost;
  }

  private receive(message: LogMessage): void {
    const { log } = this;
    if (message.kind === 'reopened') return log.info('the access log was reopened');
    const output = message.output || 'on stdout';
    if (message.failure === null) {
      this.failures.delete(output);
      log.info({ output }, 'the access log can be written again');
    } else {
      this.failures.set(output, message.failure);
      log.warn({ output, error: message.failure }, "the access log can't be written");
    }
  }
}
