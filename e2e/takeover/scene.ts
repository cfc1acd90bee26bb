import { Folder, TOKEN } from '../testing/dataplane.ts';
import { ask } from '../testing/http.ts';
import { DATAPLANE, Program } from '../testing/process.ts';
import { Upstream } from '../testing/upstream.ts';

export const HOST = 'steady.test';
export const HTTP_PORT = 8080;
const ADMIN_PORT = 6190;
const WORKERS = 2;
const SLOW_MS = 60;
/** The pause between two replacements, in which the visitors reach every state again. */
const SETTLED_MS = 200;

/** A data plane with one route in a separate network namespace, where all ports are free. */
export class Scene {
  private readonly folder: Folder;
  private readonly upstream: Upstream;
  private program: Program;

  private constructor(folder: Folder, upstream: Upstream) {
    this.folder = folder;
    this.upstream = upstream;
    this.program = this.launch([]);
  }

  static async open(): Promise<Scene> {
    const upstream = await Upstream.start('steady', (request, response) => {
      if (request.url === '/slow') setTimeout(() => response.end('here'), SLOW_MS);
      else response.end('here');
    });
    const scene = new Scene(new Folder(), upstream);
    await scene.program.said('data plane started');
    await scene.post({ domain: HOST, upstream: upstream.address, tls: false });
    return scene;
  }

  /** Starts a process that takes over, and waits until the old one has exited. */
  async upgrade(): Promise<void> {
    const old = this.program;
    this.program = this.launch(['--takeover']);
    await this.program.said('data plane started');
    const { code } = await old.exited;
    if (code !== 0) throw new Error(`the old process ended with ${code}:\n${old.output}`);
    await this.settle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.program[Symbol.asyncDispose]();
    await this.upstream[Symbol.asyncDispose]();
    this.folder[Symbol.dispose]();
  }

  private launch(more: readonly string[]): Program {
    const [node, ...entry] = DATAPLANE;
    const args = [...entry, '--http-port', `${HTTP_PORT}`, '--admin-listen', `127.0.0.1:${ADMIN_PORT}`, '--workers', `${WORKERS}`];
    return new Program(node, [...args, '--state-dir', this.folder.path, ...more], { SLUICE_ADMIN_TOKEN: TOKEN });
  }

  private async post(route: object): Promise<void> {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const { status, text } = await ask({ port: ADMIN_PORT }, '/routes', { method: 'POST', headers, body: JSON.stringify(route) });
    if (status !== 201) throw new Error(`POST /routes: ${status} ${text}`);
  }

  private settle(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
  }
}
