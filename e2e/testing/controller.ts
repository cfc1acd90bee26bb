import { writeFileSync } from 'node:fs';
import { until } from '../../shared/runtime/testing/until.ts';
import { type Dataplane, type Folder, TOKEN } from './dataplane.ts';
import { ask } from './http.ts';
import { freePort } from './ports.ts';
import { Program, SLUICE } from './process.ts';

/** A standalone controller that sends routes to a data plane over TCP. */
export class Controller {
  readonly program: Program;
  readonly file: string;
  readonly port: number;

  private constructor(program: Program, file: string, port: number) {
    this.program = program;
    this.file = file;
    this.port = port;
  }

  /** Starts a controller on a file with these sites and waits until it responds. */
  static async start(dataplane: Dataplane, folder: Folder, id: string, sites: string): Promise<Controller> {
    const file = folder.file(`Sluicefile-${id}`);
    writeFileSync(file, sites);
    const port = await freePort();
    const args = ['controller', '--id', id, '--config', file, '--dataplane', `127.0.0.1:${dataplane.adminPort}`];
    const program = new Program(SLUICE, [...args, '--listen', `127.0.0.1:${port}`], { SLUICE_ADMIN_TOKEN: TOKEN });
    const controller = new Controller(program, file, port);
    await until(`controller ${id} to answer`, async () => (await ask({ port }, '/health')).status === 200);
    return controller;
  }

  write(sites: string): void {
    writeFileSync(this.file, sites);
  }

  /** Its status page, which is not rate-limited. */
  async status(): Promise<string> {
    return (await ask({ port: this.port }, '/status', { headers: { authorization: `Bearer ${TOKEN}` } })).text;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.program[Symbol.asyncDispose]();
  }
}
