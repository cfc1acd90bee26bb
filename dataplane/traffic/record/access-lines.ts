import type { Clock } from '../../../shared/runtime/clock.ts';
import type { AccessLogSpec } from '../../../shared/values/log-output.ts';
import type { LineRing } from '../../ledger/line-ring.ts';
import { announcementOf } from '../../ledger/output-name.ts';
import type { RefusedHead } from '../client/client-tools.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { accessLine, refusedLine } from './access-line.ts';

export type AccessLinesTools = {
  readonly clock: Clock;
  readonly ring: LineRing;
  /** The default output: a path, `stdout`, or null for none. */
  readonly defaultOutput: string | null;
  /** Called before the first line: the thread that writes them has to run. */
  readonly begun: () => void;
};

const STDOUT = announcementOf({ path: null, follows: false });

/** The lines of the access log of one worker. */
export class AccessLines {
  private readonly tools: AccessLinesTools;
  /** The numbers of outputs that the thread knows since `epoch`, by their announcement. */
  private readonly numbers = new Map<string, number>();
  private readonly defaultOutput: string | null;
  private begun = false;
  private epoch = 0;

  constructor(tools: AccessLinesTools) {
    this.tools = tools;
    const { defaultOutput } = tools;
    // The path of the operator may be a symbolic link. Those of routes may not, since their authors may have fewer rights.
    if (defaultOutput === null || defaultOutput === 'stdout') this.defaultOutput = defaultOutput && STDOUT;
    else this.defaultOutput = announcementOf({ path: defaultOutput, follows: true });
  }

  /** An exchange is over; `now` in milliseconds on the monotonic clock. */
  ended(x: Exchange, now: number): void {
    const output = x.route === null || x.route.log === undefined ? this.defaultOutput : this.outputOf(x.route.log);
    if (output !== null) this.write(output, accessLine(x, this.tools.clock.now(), now - x.startedAt));
  }

  /** A head was refused before there was an exchange. */
  refused({ address, status }: RefusedHead): void {
    if (this.defaultOutput !== null) this.write(this.defaultOutput, refusedLine(address, status, this.tools.clock.now()));
  }

  private outputOf(log: AccessLogSpec): string | null {
    if (log === 'off') return null;
    if (log === 'on') return this.defaultOutput ?? STDOUT;
    return log === 'stdout' ? STDOUT : announcementOf({ path: log, follows: false });
  }

  private write(output: string, line: string): void {
    const { ring, begun } = this.tools;
    if (!this.begun) {
      this.begun = true;
      begun();
    }
    const { epoch } = ring;
    if (epoch !== this.epoch) {
      this.epoch = epoch;
      this.numbers.clear();
    }
    const number = this.numbers.get(output) ?? this.announce(output);
    ring.push(number, line);
  }

  /** If there is no room for the announcement there is none for the line either. */
  private announce(output: string): number {
    const number = this.numbers.size;
    if (this.tools.ring.push(~number, Buffer.from(output).toString('latin1'))) this.numbers.set(output, number);
    return number;
  }
}
