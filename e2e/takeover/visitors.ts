import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { until } from '../harness/until.ts';

/** What a crowd of visitors has seen so far, for new and for kept connections. */
export type Seen = {
  readonly answered: { readonly onNew: number; readonly onKept: number };
  /** What was seen instead of an answer, with how often. */
  readonly lost: Readonly<Record<string, number>>;
};

const ENTRY = fileURLToPath(new URL('./visitors-process.ts', import.meta.url));

/** A crowd in a process of its own, half of them with a connection for each request, half with one that they keep. */
export class Visitors {
  private readonly child: ChildProcess;
  private readonly exited: Promise<void>;
  private last: Seen = { answered: { onNew: 0, onKept: 0 }, lost: {} };

  /** `pauseMs` lies between an answer and the next request of the same visitor. */
  constructor(port: number, host: string, count: number, pauseMs: number) {
    this.child = fork(ENTRY, [`${port}`, host, `${count}`, `${pauseMs}`]);
    this.child.on('message', (message) => {
      this.last = message as Seen;
    });
    this.exited = new Promise((resolve) => this.child.once('exit', () => resolve()));
  }

  /** As of a tenth of a second ago at most. */
  get seen(): Seen {
    return this.last;
  }

  get answered(): number {
    return this.last.answered.onNew + this.last.answered.onKept;
  }

  /** Waits until this many more requests have been answered. */
  async more(count: number): Promise<void> {
    const goal = this.answered + count;
    await until(`${goal} requests to be answered`, () => this.answered >= goal, 60_000);
  }

  /** Lets every visitor finish what it asked. @returns everything that was seen. */
  async stop(): Promise<Seen> {
    if (this.child.connected) this.child.send('stop');
    await this.exited;
    return this.last;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGKILL');
    await this.exited;
  }
}
