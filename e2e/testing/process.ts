import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));

/** What `npm test` has built is tested like an installed package. A file that is run alone tests the sources. */
const BUILT = process.env.TESTED_BUILD;
export const TESTED = BUILT ?? REPOSITORY;
export const SLUICE = join(TESTED, 'sluice');
/** The entry of the data plane process in a checkout or an installed package. */
export const DATAPLANE_ENTRY = BUILT === undefined ? 'dataplane/main.ts' : 'dist/dataplane/main.js';

/** The data plane process itself, without the launcher and its parent. */
export const DATAPLANE: readonly [node: string, ...entry: string[]] = [
  process.execPath,
  '--max-semi-space-size=2',
  join(TESTED, DATAPLANE_ENTRY),
];

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

/** A started program whose output is kept, and which ends with the test. */
export class Program {
  readonly child: ChildProcess;
  readonly exited: Promise<Exit>;
  stdout = '';
  stderr = '';
  exit: Exit | null = null;

  constructor(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}, cwd: string = REPOSITORY) {
    this.child = spawn(command, args, { cwd, env: { ...cleanEnvironment(), ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.exited = new Promise((resolve, reject) => {
      this.child.once('error', reject);
      this.child.once('close', (code, signal) => {
        this.exit = { code, signal };
        resolve(this.exit);
      });
    });
  }

  get pid(): number {
    const { pid } = this.child;
    if (pid === undefined) throw new Error('the program did not start');
    return pid;
  }

  /** Waits for a text in its output. @throws with the output if it exits or takes too long. */
  said(text: string | RegExp, withinMs = 60_000): Promise<void> {
    const matches = () => (typeof text === 'string' ? this.output.includes(text) : text.test(this.output));
    return new Promise((resolve, reject) => {
      const settle = (problem?: string) => {
        clearTimeout(timer);
        for (const stream of [this.child.stdout, this.child.stderr]) stream?.off('data', look);
        if (problem === undefined) resolve();
        else reject(new Error(`${problem}\n${this.output}`));
      };
      const timer = setTimeout(() => settle(`the program has not said ${text} within ${withinMs} ms`), withinMs);
      const look = () => matches() && settle();
      for (const stream of [this.child.stdout, this.child.stderr]) stream?.on('data', look);
      this.exited.then(
        (exit) => settle(matches() ? undefined : `the program ended (${JSON.stringify(exit)}) without saying ${text}`),
        reject,
      );
      look();
    });
  }

  get output(): string {
    return this.stdout + this.stderr;
  }

  kill(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    if (this.exit === null) this.child.kill(signal);
    return this.exited;
  }

  /** Kills it, in any state. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.exit !== null) return;
    this.child.kill('SIGTERM');
    const timer = setTimeout(() => this.child.kill('SIGKILL'), 5_000);
    await this.exited;
    clearTimeout(timer);
  }
}

/** Runs a command to completion. */
export async function run(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd?: string,
): Promise<Exit & { stdout: string; stderr: string }> {
  const program = new Program(SLUICE, args, env, cwd);
  const exit = await program.exited;
  return { ...exit, stdout: program.stdout, stderr: program.stderr };
}

/**
 * Removes settings of this environment that would affect the tested program. Node's compile cache stays: it affects
 * only how long a program takes to start, and most of the suite's CPU time is programs that start.
 */
function cleanEnvironment(): Record<string, string> {
  const affects = (name: string) => name.startsWith('SLUICE_') || (name.startsWith('NODE_') && name !== 'NODE_COMPILE_CACHE');
  return Object.fromEntries(
    Object.entries(process.env).filter(([name, value]) => value !== undefined && !affects(name)) as [string, string][],
  );
}
