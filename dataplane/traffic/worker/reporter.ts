import type { Faults } from '../exchange/faults.ts';
import type { FromWorker, TrafficReport } from '../protocol.ts';
import type { TrafficRecord } from '../record/traffic-record.ts';

type ReportParts = Iterator<TrafficReport, TrafficReport>;

type ReporterTools = {
  readonly record: Pick<TrafficRecord, 'drain'>;
  readonly faults: Pick<Faults, 'drainCounts'>;
  post(message: FromWorker): void;
};

/**
 * Sends the counts of a worker to the main thread. One second of traffic to thousands of hosts is sent in parts, each after the main thread
 * has handled the one before, because it handles everything that has arrived in one turn of its event loop.
 */
export class Reporter {
  private readonly tools: ReporterTools;
  private parts: ReportParts | null = null;
  /** Requests that arrived while parts of an earlier report were left. */
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

  /** Sends everything that is left at once, because the worker ends. */
  finish(): void {
    while (this.parts !== null) this.next();
    this.report(null);
    while (this.parts !== null) this.next();
  }

  private send(parts: ReportParts, id: number | null): void {
    const { value, done } = parts.next();
    if (!done) {
      this.tools.post({ kind: 'report', id: null, report: value, more: true });
      this.parts = parts;
      this.id = id;
      return;
    }
    const faults = this.tools.faults.drainCounts();
    const report = { ...value, ...(faults !== null && { faults }) };
    if (id !== null || report.domains.length > 0 || report.targets !== undefined || faults !== null)
      this.tools.post({ kind: 'report', id, report, more: false });
    const next = this.waiting.shift();
    if (next !== undefined) this.report(next);
  }

  /** The main thread has handled a part, so the next one is sent. */
  next(): void {
    const { parts } = this;
    // An exception loses the rest of this report, but no later ones.
    this.parts = null;
    if (parts !== null) this.send(parts, this.id);
  }
}
