import { get } from 'node:http';
import { Folder, frame, NDJSON, TOKEN } from '../harness/dataplane.ts';
import { ask } from '../harness/http.ts';
import { DATAPLANE, Program } from '../harness/process.ts';
import { until } from '../harness/until.ts';
import { Upstream } from '../harness/upstream.ts';

export const HOST = 'steady.test';
export const HTTP_PORT = 8080;
const ADMIN_PORT = 6190;
const WORKERS = 2;
const SLOW_MS = 60;
/** Between two replacements: as long as it takes a crowd to be in every state again. */
const SETTLED_MS = 200;

/** A data plane with one route, in a network of its own: its ports are the scene's to choose. */
export class Scene {
  private readonly folder: Folder;
  private readonly upstream: Upstream;
  private program: Program;
  private replacements = 0;

  private constructor(folder: Folder, upstream: Upstream) {
    this.folder = folder;
    this.upstream = upstream;
    this.program = this.launch([]);
  }

  static async open(): Promise<Scene> {
    const upstream = await Upstream.start('steady', (request, response) => {
      setTimeout(() => response.end('here'), request.url === '/slow' ? SLOW_MS : 0);
    });
    const scene = new Scene(new Folder(), upstream);
    await scene.program.said('data plane started');
    await scene.post({ 'content-type': 'application/json' }, JSON.stringify({ domain: HOST, upstream: upstream.address, tls: false }), 201);
    return scene;
  }

  /** Replaces every worker, by a change of a setting that workers read when they start and that opens no port. */
  async replaceWorkers(): Promise<void> {
    this.replacements++;
    const retired = await this.workersRetired();
    const [start = '', end = ''] = frame(this.replacements, []).trim().split('\n');
    const settings = JSON.stringify({ settings: { https_port: 8443 + this.replacements } });
    await this.post(NDJSON, `${start}\n${settings}\n${end}\n`, 200);
    await until('the old workers to be gone', () => retired.count >= WORKERS, 40_000);
    retired.close();
    await this.settle();
  }

  /** Starts a new process that takes over, and waits for the end of the old one. */
  async upgrade(): Promise<void> {
    const old = this.program;
    this.program = this.launch(['--takeover']);
    await this.program.said('data plane started', 30_000);
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

  private async post(headers: Readonly<Record<string, string>>, body: string, expected: number): Promise<void> {
    const authorization = `Bearer ${TOKEN}`;
    const { status, text } = await ask({ port: ADMIN_PORT }, '/routes', { method: 'POST', headers: { authorization, ...headers }, body });
    if (status !== expected) throw new Error(`POST /routes: ${status} ${text}`);
  }

  /** Counts the workers that end after their successors took over, from now on. */
  private workersRetired(): Promise<{ count: number; close(): void }> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${TOKEN}` };
      const request = get({ host: '127.0.0.1', port: ADMIN_PORT, path: '/events', headers, agent: false }, (response) => {
        const retired = { count: 0, close: () => request.destroy() };
        response.setEncoding('utf8').on('data', (text: string) => {
          retired.count += text.match(/"state":"retired"/g)?.length ?? 0;
        });
        // It ends when nobody needs it any more, or with the process, which another look will tell.
        response.on('error', () => undefined);
        if (response.statusCode === 200) resolve(retired);
        else reject(new Error(`GET /events: ${response.statusCode}`));
      });
      request.on('error', reject);
    });
  }

  private settle(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
  }
}
