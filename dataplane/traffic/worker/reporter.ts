import type { Faults } from '../exchange/faults.ts';
import type { FromWorker, TrafficReport } from '../protocol.ts';
import type { TrafficRecord } from '../record/traffic-record.ts';

type Parts = Iterator<TrafficReport, TrafficReport>;

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
  private parts: Parts | null = null;
  /** Requests that came while parts of an earlier report were left. */
  private readonly waiting: number[] = [];
  private id: number | null = null;

  constructor(tools: ReporterTools) {
    this.tools = tools;
  }

  /** Sends everything since the last report; `id` of the request, null without one. The last part carries it. */
  report(id: number | null): void {
    if (this.parts === null) return this.send(this.tools.record.drain(), id);
    if (id !== null) this.waiting.push(id);
  }

  /** Sends what is left at once: the worker ends. */
  finish(): void {
    while (this.parts !== null) this.next();
    this.report(null);
    while (this.parts !== null) this.next();
  }

  private send(parts: Parts, id: number | null): void {
    const { value, done } = parts.next();
    if (!done) {
      this.tools.post({ kind: 'report', id: null, report: value });
      this.parts = parts;
      this.id = id;
      setImmediate(this.next);
      return;
    }
    const faults = this.tools.faults.drainCounts();
    const report = { ...value, ...(faults !== null && { faults }) };
    if (id !== null || report.domains.length > 0 || report.targets !== undefined || faults !== null)
      this.tools.post({ kind: 'report', id, report });
    const next = this.waiting.shift();
    if (next !== undefined) this.report(next);
  }

  private readonly next = (): void => {
    const { parts } = this;
    // An exception loses the rest of this report, and none of those that follow.
    this.parts = null;
    if (parts !== null) this.tools.faults.step(() => this.send(parts, this.id));
  };
}
