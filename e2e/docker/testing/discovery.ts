import { setTimeout as wait } from 'node:timers/promises';
import { until } from '../../../shared/runtime/testing/until.ts';
import { Folder } from '../../testing/dataplane.ts';
import { type Answer, ask, visit } from '../../testing/http.ts';
import { freePort } from '../../testing/ports.ts';
import { Program, run, SLUICE } from '../../testing/process.ts';
import type { Engine } from './engine.ts';
import { Load } from './load.ts';

/** Both processes on the machine of an engine and its containers. Each can be stopped and started separately. */
export class Discovery {
  dataplane: Program | undefined;
  controller: Program | undefined;
  readonly httpPort: number;
  private readonly listen: number;
  private readonly engine: Engine;
  /** Additional data plane flags. */
  private readonly flags: readonly string[];
  private readonly folder = new Folder();

  private constructor(engine: Engine, httpPort: number, listen: number, flags: readonly string[]) {
    this.engine = engine;
    this.flags = flags;
    this.httpPort = httpPort;
    this.listen = listen;
  }

  /** Starts both and waits until the first list of containers is served. */
  static async start(engine: Engine, { httpPort, flags = [] }: { httpPort?: number; flags?: readonly string[] } = {}): Promise<Discovery> {
    const discovery = new Discovery(engine, httpPort ?? (await freePort()), await freePort(), flags);
    await discovery.startDataplane();
    await discovery.startController();
    await until('the first list to be served', async () => (await discovery.admin('/ready')).status === 200);
    return discovery;
  }

  async startDataplane(): Promise<void> {
    const http = ['--http-port', `${this.httpPort}`, '--bind', '127.0.0.1', '--workers', '2', '--drain-timeout', '5s'];
    const rest = ['--admin-socket', this.socket, '--admin-listen', `127.0.0.1:${await freePort()}`];
    this.dataplane = new Program(SLUICE, ['dataplane', '--state-dir', this.folder.file('state'), ...http, ...rest, ...this.flags]);
    await this.answers('the data plane', this.dataplane, () => this.admin('/health'));
  }

  async startController(): Promise<void> {
    const args = ['controller', '--docker', this.engine.socket, '--dataplane', `unix:${this.socket}`];
    this.controller = new Program(SLUICE, [...args, '--listen', `127.0.0.1:${this.listen}`]);
    await this.answers('the controller', this.controller, () => ask({ port: this.listen }, '/health'));
  }

  /** A response of the Admin API on its socket. */
  admin(path: string): Promise<Answer> {
    return ask({ socketPath: this.socket }, path);
  }

  visit(host: string, path = '/'): Promise<Answer> {
    return visit(this.httpPort, host, path);
  }

  /** Waits until a visit gets this status. @throws with the output of explain for the host. */
  async answersWith(status: number, host: string, { withinMs = 60_000, everyMs = 5 } = {}): Promise<Answer> {
    const look = async () => {
      const answer = await this.visit(host);
      if (answer.status === status) return answer;
      await wait(everyMs);
      throw new Error(`${answer.status}`);
    };
    return await until(`${status} for ${host}`, look, withinMs).catch(async (error: Error) => {
      throw new Error(`${error.message}\n${await this.command('explain', host)}${this.controller?.output.slice(-1_000)}`);
    });
  }

  load(host: string, app: string, more: { perSecond?: number; postEvery?: number } = {}): Load {
    return new Load({ port: this.httpPort, host, app, ...more });
  }

  /** Ends a load that must not have lost requests. @throws with the output of both processes. */
  async lostNothing(load: Load): Promise<void> {
    const { sent, failures } = await load.end();
    if (failures.length === 0) return;
    const about = `${this.dataplane?.output}${this.controller?.output}`.split('\n').filter((line) => line.includes(load.host));
    const some = [...failures.slice(0, 20).map((failure) => JSON.stringify(failure)), ...about.slice(-40)];
    throw new Error(`${failures.length} of ${sent} requests were lost:\n${some.join('\n')}`);
  }

  /** Runs a sluice command against its socket. @returns its output. */
  async command(...args: string[]): Promise<string> {
    const { stdout, stderr } = await run([...args, '--admin', `unix:${this.socket}`]);
    return stdout + stderr;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.controller?.[Symbol.asyncDispose]();
    await this.dataplane?.[Symbol.asyncDispose]();
    this.folder[Symbol.dispose]();
  }

  private get socket(): string {
    return this.folder.file('admin.sock');
  }

  private async answers(name: string, program: Program, health: () => Promise<Answer>): Promise<void> {
    await until(`${name} to answer`, async () => program.exit !== null || (await health()).status === 200);
    if (program.exit !== null) throw new Error(`${name} ended:\n${program.output}`);
  }
}
