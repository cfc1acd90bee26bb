import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { until } from '../../shared/runtime/testing/until.ts';

/** The results of all visitors so far, for new and for kept connections. */
export type VisitorResults = {
  readonly answered: { readonly onNew: number; readonly onKept: number };
  /** What happened instead of a response, with counts. */
  readonly lost: Readonly<Record<string, number>>;
};

const ENTRY = fileURLToPath(new URL('./visitors-process.ts', import.meta.url));

/** Visitors in a separate process: half open a connection per request, and half keep theirs. */
export class Visitors {
  private readonly child: ChildProcess;
  private readonly exited: Promise<void>;
  private last: VisitorResults = { answered: { onNew: 0, onKept: 0 }, lost: {} };

  /** `pauseMs` is the time between a response and the next request of the same visitor. */
  constructor(port: number, host: string, count: number, pauseMs: number) {
    this.child = fork(ENTRY, [`${port}`, host, `${count}`, `${pauseMs}`]);
    this.child.on('message', (message) => {
      this.last = message as VisitorResults;
    });
    this.exited = new Promise((resolve) => this.child.once('exit', () => resolve()));
  }

  /** At most a tenth of a second old. */
  get seen(): VisitorResults {
    return this.last;
  }

  get answered(): number {
    return this.last.answered.onNew + this.last.answered.onKept;
  }

  /** Waits until this many more requests have been answered. */
  async more(count: number): Promise<void> {
    const goal = this.answered + count;
    await until(`${goal} requests to be answered`, () => this.answered >= goal);
  }

  /** Lets every visitor finish its current request. @returns all results. */
  async stop(): Promise<VisitorResults> {
    if (this.child.connected) this.child.send('stop');
    await this.exited;
    return this.last;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGKILL');
    await this.exited;
  }
}
