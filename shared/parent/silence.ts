import type { Clock } from '../runtime/clock.ts';
import type { ToParent } from '../runtime/process/parent.ts';
import type { Child, ChildEvents, Launch } from './child.ts';

/** A process that has said nothing for this long (ms) is reported: much longer than any pause of a main thread that is only busy. */
const SILENT_MS = 30_000;
const CHECK_MS = 5_000;

type Start = (launch: Launch, events: ChildEvents) => Child;
type Tools = { readonly clock: Clock; readonly report: (fields: object, message: string) => void };

/**
 * Reports a process that does not say any more that it is alive. It is not ended: nothing tells a thread that hangs from one that is
 * suspended or starved, and the workers of a data plane go on serving.
 */
export function reportingSilence(start: Start, tools: Tools): Start {
  return (launch, events) => {
    let watch: Silence | null = null;
    const child = start(launch, {
      received: (message: ToParent) => {
        if (message.kind !== 'alive') return events.received(message);
        watch ??= new Silence(() => child.pid, tools);
        watch.heard();
      },
      ended: (code) => {
        watch?.stop();
        events.ended(code);
      },
    });
    return child;
  };
}

class Silence {
  private readonly pid: () => number;
  private readonly tools: Tools;
  private heardAt: number;
  private checkedAt: number;
  private reported = false;
  /** No check follows. */
  readonly stop: () => void;

  constructor(pid: () => number, tools: Tools) {
    this.pid = pid;
    this.tools = tools;
    this.heardAt = tools.clock.monotonic();
    this.checkedAt = this.heardAt;
    this.stop = tools.clock.every(CHECK_MS, () => this.check());
  }

  heard(): void {
    this.heardAt = this.tools.clock.monotonic();
    if (this.reported) this.tools.report({ level: 'info', pid: this.pid() }, 'the data plane responds again');
    this.reported = false;
  }

  private check(): void {
    const now = this.tools.clock.monotonic();
    // If this process itself was delayed, as on a suspended machine, that time does not count.
    const late = now - this.checkedAt - CHECK_MS;
    this.checkedAt = now;
    if (late > CHECK_MS) this.heardAt += late;
    if (this.reported || now - this.heardAt < SILENT_MS) return;
    this.reported = true;
    this.tools.report(
      { pid: this.pid(), within: SILENT_MS },
      'the data plane does not respond: its workers may go on serving, but no change takes effect; if this stays, end the process with SIGKILL, and it is started again',
    );
  }
}
