import fs from 'node:fs';
import { mock } from 'node:test';

/** Operations on disks that a test can make slow or let fail, by their path or descriptor. */
type Operation = 'open' | 'read' | 'fstat' | 'opendir' | 'lstat';
type Callback = (error: NodeJS.ErrnoException | null, ...values: readonly unknown[]) => void;

/** Test support: a disk that fails or hangs on the test's command. It replaces functions of node:fs for the whole process. */
export class OddDisk {
  /** Operations that hang. */
  held = 0;
  /** Give node:fs its own functions back. */
  private readonly restores: (() => void)[] = [];
  private readonly releases: (() => void)[] = [];

  /** These operations fail with this code. `about` gets the path or descriptor. */
  fail(operation: Operation, code: string, about: (of: string | number) => boolean): void {
    this.replace(operation, about, (done) => setImmediate(done, Object.assign(new Error(code), { code })));
  }

  /** These operations take until `release`. */
  hang(operation: Operation, about: (of: string | number) => boolean): void {
    this.replace(operation, about, (done, run) => {
      this.held++;
      this.releases.push(() => run(done));
    });
  }

  /** The same for reads of directories. */
  hangReads(): void {
    const original = fs.Dir.prototype.read as (this: fs.Dir, done: Callback) => void;
    const hold = (run: () => void): void => {
      this.held++;
      this.releases.push(run);
    };
    const replaced = function (this: fs.Dir, done: Callback): void {
      hold(() => original.call(this, done));
    };
    const mocked = mock.method(fs.Dir.prototype, 'read', replaced as never);
    this.restores.push(() => mocked.mock.restore());
  }

  release(): void {
    for (const run of this.releases.splice(0)) run();
    this.held = 0;
  }

  /** From now on, everything works again. */
  [Symbol.dispose](): void {
    for (const restore of this.restores.splice(0)) restore();
    this.release();
  }

  private replace(
    operation: Operation,
    about: (of: string | number) => boolean,
    act: (done: Callback, run: (done: Callback) => void) => void,
  ) {
    const method = fs[operation];
    const original = (...args: unknown[]): void => Reflect.apply(method, fs, args);
    const replaced = (...args: unknown[]): void => {
      const done = args.at(-1) as Callback;
      if (!about(args[0] as string | number)) return original(...args);
      act(done, (then) => original(...args.slice(0, -1), then));
    };
    const mocked = mock.method(fs, operation, replaced as never);
    this.restores.push(() => mocked.mock.restore());
  }
}

/** Where a descriptor leads. */
export function pathOf(fd: string | number): string {
  try {
    return typeof fd === 'string' ? fd : fs.readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return '';
  }
}

/** Descriptors of files below a directory that this process has open. */
export const openBelow = (directory: string): number =>
  fs.readdirSync('/proc/self/fd').filter((fd) => pathOf(Number(fd)).startsWith(`${directory}/`)).length;

/** How often this process has a directory open. */
export const openDirectories = (directory: string): number =>
  fs.readdirSync('/proc/self/fd').filter((fd) => pathOf(Number(fd)) === directory).length;
