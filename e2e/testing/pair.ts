import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { ControllerReport } from '../../controller/status/report.ts';
import { controllerSocketBeside } from '../../shared/api/controller-socket.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import type { Folder } from './dataplane.ts';
import { type Answer, type Ask, ask, visit } from './http.ts';
import { freePort } from './ports.ts';
import { Program, run, SLUICE } from './process.ts';

type Options = {
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The global options block of the file. By default it sets a free port. */
  readonly globals?: string;
  /** The status of /ready to wait for: 503 if nothing can be served yet. */
  readonly until?: 200 | 503;
  /** A program and its arguments that start the pair instead of it being started directly. */
  readonly command?: readonly string[];
};

/** `sluice run` with a Sluicefile of the test: both processes under their parent. */
export class Pair {
  readonly program: Program;
  readonly file: string;
  readonly socket: string;
  readonly httpPort: number;
  readonly controllerPort: number;
  private readonly globals: string;
  /** How many files `serve` has saved. */
  private served = 0;

  private constructor(program: Program, folder: Folder, httpPort: number, controllerPort: number, globals: string) {
    this.program = program;
    this.file = folder.file('Sluicefile');
    this.socket = folder.file('state/admin.sock');
    this.httpPort = httpPort;
    this.controllerPort = controllerPort;
    this.globals = globals;
  }

  /** Starts the pair on a file with these sites and waits until it is ready. */
  static async start(folder: Folder, sites: string, options: Options = {}): Promise<Pair> {
    const [http, admin, controller] = [await freePort(), await freePort(), await freePort()];
    const { flags = [], env = {}, globals = globalsOf(http), until: wanted = 200, command = [] } = options;
    writeFileSync(folder.file('Sluicefile'), globals + sites);
    const args = ['run', '--config', folder.file('Sluicefile'), '--state-dir', folder.file('state'), '--workers', '2'];
    const listen = ['--admin-listen', `127.0.0.1:${admin}`, '--listen', `127.0.0.1:${controller}`];
    const [program, ...more] = [...command, SLUICE, ...args, ...listen, ...flags] as [string, ...string[]];
    const pair = new Pair(new Program(program, more, env), folder, http, controller, globals);
    await until('the pair to be ready', async () =>
      pair.program.exit !== null ? Promise.reject(new Error(pair.program.output)) : (await pair.admin('/ready')).status === wanted,
    ).catch(async (error: unknown) => {
      await pair.program[Symbol.asyncDispose]();
      throw error;
    });
    return pair;
  }

  /** Saves the file with different sites, and with different global options if they are given. */
  write(sites: string, globals = this.globals): void {
    writeFileSync(this.file, globals + sites);
  }

  /** Saves the file with different sites, and waits until every worker serves them: a test of its own needs no pair of its own. */
  async serve(sites: string, globals = this.globals): Promise<void> {
    const mark = `served-${++this.served}.test`;
    this.write(`${sites}${mark} {\n  respond "served"\n}\n`, globals);
    await until('the saved file to be served', async () => {
      const { objects, last_reload: reload } = JSON.parse((await this.controller('/status')).text) as ControllerReport;
      const [programmed] = Object.values(objects.find(({ domain }) => domain === mark)?.programmed ?? {});
      if (programmed?.holds) return true;
      throw new Error(reload?.errors.join('; '));
    });
  }

  admin(path: string, more: Ask = {}): Promise<Answer> {
    return ask({ socketPath: this.socket }, path, more);
  }

  /** The controller's endpoints, on its socket next to the data plane's. */
  async controller(path: string): Promise<Answer> {
    await until('the controller’s socket', () => existsSync(controllerSocketBeside(this.socket)));
    return ask({ socketPath: controllerSocketBeside(this.socket) }, path);
  }

  visit(host: string, path = '/', more: Ask = {}): Promise<Answer> {
    return visit(this.httpPort, host, path, more);
  }

  /** Runs a command against its socket. */
  command(...args: string[]): ReturnType<typeof run> {
    return run([...args, '--admin', `unix:${this.socket}`]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.program[Symbol.asyncDispose]();
  }
}

const globalsOf = (port: number): string => `{\n  http_port ${port}\n  bind 127.0.0.1\n}\n`;

/** The process ids of both processes below a process; 0 for one that does not exist. */
export async function childrenOf(pid: number): Promise<{ dataplane: number; controller: number }> {
  const found = { dataplane: 0, controller: 0 };
  for (const one of familyOf(pid)) {
    const command = commandOf(one);
    if (command.includes('dataplane/main')) found.dataplane = one;
    if (command.includes('controller/main')) found.controller = one;
  }
  return found;
}

/** All descendants of a process, nearest first. */
export function familyOf(pid: number): number[] {
  const children = readGone(`/proc/${pid}/task/${pid}/children`).trim().split(' ').filter(Boolean).map(Number);
  return [...children, ...children.flatMap(familyOf)];
}

const commandOf = (pid: number): string => readGone(`/proc/${pid}/cmdline`);

/** Empty for a process that has ended in the meantime. */
function readGone(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return '';
    throw error;
  }
}
