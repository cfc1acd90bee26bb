import type { LineRings } from '../ledger/line-ring.ts';
import { readAnnouncement } from '../ledger/output-name.ts';
import { LogOutput, type QueuedBytes } from './log-output.ts';

/** A message to the main thread about an output; `failure` null: it can be written again. `output` is empty for standard output. */
export type OutputReport = { readonly output: string; readonly failure: string | null };

/** Reads the lines of all workers and writes each to its output. */
export class LogWriter {
  private readonly rings: LineRings;
  private readonly report: (report: OutputReport) => void;
  private readonly outputs = new Map<string, LogOutput>();
  private readonly reported = new Map<LogOutput, string | null>();
  private readonly waiting: QueuedBytes = { bytes: 0 };
  /** The meaning of the numbers in each ring. */
  private readonly numbers: readonly Map<number, LogOutput>[];

  constructor(rings: LineRings, report: (report: OutputReport) => void) {
    this.rings = rings;
    this.report = report;
    this.numbers = rings.rings.map(() => new Map());
    rings.begin();
  }

  /** Writes everything that can be written without waiting; `now` in ms on any monotonic clock. */
  turn(now: number): void {
    for (const [slot, ring] of this.rings.rings.entries()) {
      const numbers = this.numbers[slot] as Map<number, LogOutput>;
      let any = false;
      ring.read((number, bytes, from, to) => {
        any = true;
        if (number < 0) numbers.set(~number, this.outputOf(bytes.toString('utf8', from, to)));
        else if (numbers.get(number)?.add(bytes, from, to, now) !== true) this.rings.lose(1);
      });
      if (any) this.flush(now);
    }
    this.flush(now);
  }

  private flush(now: number): void {
    for (const output of this.outputs.values()) {
      this.rings.lose(output.flush(now));
      this.compare(output);
    }
  }

  private compare(output: LogOutput): void {
    const { failure } = output;
    if ((this.reported.get(output) ?? null) === failure) return;
    this.reported.set(output, failure);
    this.report({ output: output.name.path ?? '', failure });
  }

  /** Begins new files in place of those that were renamed. */
  reopen(now: number): void {
    this.turn(now);
    for (const output of this.outputs.values()) {
      this.rings.lose(output.reopen(now));
      this.compare(output);
    }
  }

  /** Whether another turn may write more. */
  get busy(): boolean {
    return [...this.outputs.values()].some((output) => output.busy);
  }

  /** The process ends: lines that have not been written are lost. */
  end(): void {
    for (const output of this.outputs.values()) this.rings.lose(output.unwritten);
  }

  private outputOf(announced: string): LogOutput {
    const known = this.outputs.get(announced);
    if (known !== undefined) return known;
    const output = new LogOutput(readAnnouncement(announced), this.waiting);
    this.outputs.set(announced, output);
    return output;
  }
}
