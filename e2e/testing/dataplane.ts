import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../shared/runtime/testing/until.ts';
import { type Answer, type Ask, ask, visit } from './http.ts';
import { freePort } from './ports.ts';
import { DATAPLANE, Program } from './process.ts';

export const TOKEN = 'a-token-for-tests';

/** A folder that is removed with the test. */
export class Folder {
  readonly path = mkdtempSync(join(tmpdir(), 'sluice-e2e-'));

  file(name: string): string {
    return join(this.path, name);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

type Options = {
  readonly stateDir: string;
  readonly workers?: number;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly httpPort?: number;
  /** A prefix for the command, such as `taskset -c 0`. */
  readonly command?: readonly string[];
  /** The program to run instead of the data plane process alone: `./sluice dataplane` starts it under a parent. */
  readonly entry?: readonly string[];
};

/** A data plane in a separate process, used through its public interfaces. */
export class Dataplane {
  readonly program: Program;
  readonly httpPort: number;
  readonly adminPort: number;

  private constructor(program: Program, httpPort: number, adminPort: number) {
    this.program = program;
    this.httpPort = httpPort;
    this.adminPort = adminPort;
  }

  /** Starts a data plane and waits until it responds. */
  static async start({
    stateDir,
    workers = 2,
    flags = [],
    env = {},
    httpPort,
    command = [],
    entry = DATAPLANE,
  }: Options): Promise<Dataplane> {
    const http = httpPort ?? (await freePort());
    const admin = await freePort();
    const args = [
      '--http-port',
      `${http}`,
      '--bind',
      '127.0.0.1',
      '--admin-listen',
      `127.0.0.1:${admin}`,
      '--state-dir',
      stateDir,
      '--workers',
      `${workers}`,
      ...flags,
    ];
    const [program = '', ...rest] = [...command, ...entry];
    const dataplane = new Dataplane(new Program(program, [...rest, ...args], { SLUICE_ADMIN_TOKEN: TOKEN, ...env }), http, admin);
    await until('the data plane to answer', async () => {
      if (dataplane.program.exit !== null) throw new Error(`it ended: ${dataplane.program.output}`);
      return (await ask({ port: admin }, '/health')).status === 200;
    }).catch(async (error: unknown) => {
      await dataplane.program[Symbol.asyncDispose]();
      throw error;
    });
    return dataplane;
  }

  /** Sends an Admin API request over TCP with the right token. */
  admin(method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
    return ask({ port: this.adminPort }, path, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, ...headers },
      ...(text !== undefined && { body: text }),
    });
  }

  visit(host: string, path = '/', more: Ask = {}): Promise<Answer> {
    return visit(this.httpPort, host, path, more);
  }

  /** Adds or replaces a route through the Admin API. @throws if it was not accepted. */
  async route(domain: string, upstream: string, more: object = {}): Promise<void> {
    const answer = await this.admin('POST', '/routes', { domain, upstream, tls: false, ...more });
    if (answer.status !== 201) throw new Error(`POST /routes: ${answer.status} ${answer.text}`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.program[Symbol.asyncDispose]();
  }
}

/** The lines of a full apply frame for `source`. */
export function frame(
  revision: number | string,
  routes: readonly object[],
  { controller = 'tests', epoch = 1, source = 'file' } = {},
): string {
  const lines = [
    { apply: { controller, epoch, revision, based_on: null, sources: [source] } },
    ...routes.map((route) => ({ route: { tls: false, source, ...route } })),
    { end: { revision } },
  ];
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

export const NDJSON = { 'content-type': 'application/x-ndjson' };
