import type { Faults } from '../exchange/faults.ts';
import type { FromWorker, TrafficReport } from '../protocol.ts';
import type { TrafficRecord } from '../record/traffic-record.ts';

type ReporterTools = {
  readonly record: TrafficRecord;
  readonly faults: Faults;
  post(message: FromWorker): void;
};

/**
 * Sends the counts of a worker to the main thread. A second of traffic to thousands of hosts goes in parts, one in each turn of the
 * event loop, so that neither thread stops for it.
 */
export class Reporter {
  private readonly tools: ReporterTools;
  private parts: Iterator<TrafficReport, TrafficReport> | null = null;
  /** Requests that came while parts of an earlier report were left. */
  private readonly waiting: number[] = [];
  private id: number | null = null;

  constructor(tools: ReporterTools) {
    this.tools = tools;
  }

  /** Sends everything since the last report; `id` of the request, null without one. The last part carries it. */
  report(id: number | null): void {
    if (this.parts !== null) {
      if (id !== null) this.waiting.push(id);
      return;
    }
    this.id = id;
    this.parts = this.tools.record.drain();
    this.next();
  }

  /** Sends what is left at once: the worker ends. */
  finish(): void {
    while (this.parts !== null) this.send();
    this.report(null);
    while (this.parts !== null) this.send();
  }

  private next(): void {
    this.send();
    if (this.parts !== null) setImmediate(() => this.tools.faults.step(() => this.parts !== null && this.next()));
  }

  private send(): void {
    if (this.parts === null) return;
    const { value, done } = this.parts.next();
    if (!done) return this.tools.post({ kind: 'report', id: null, report: value });
    this.parts = null;
    const faults = this.tools.faults.drainCounts();
    const report = { ...value, ...(faults !== null && { faults }) };
    const { id } = this;
    if (id !== null || report.domains.length > 0 || report.targets !== undefined || faults !== null)
      this.tools.post({ kind: 'report', id, report });
    const next = this.waiting.shift();
    if (next !== undefined) this.report(next);
  }
}
