import { once } from 'node:events';
import { type ConnectionOptions, connect } from 'node:tls';
import { until } from '../../../shared/runtime/testing/until.ts';
import { Folder } from '../../testing/dataplane.ts';
import { type Answer, ask, visit } from '../../testing/http.ts';
import { freePort } from '../../testing/ports.ts';
import { Program, run, SLUICE } from '../../testing/process.ts';

type Options = { readonly kubeconfig: string; readonly flags?: readonly string[]; readonly bind?: string };

/** Both processes, with a controller that watches a cluster. */
export class Pair {
  readonly httpPort: number;
  readonly httpsPort: number;
  dataplane: Program | undefined;
  controller: Program | undefined;
  private readonly folder = new Folder();
  private readonly listen: number;

  private readonly bind: string;

  private constructor(httpPort: number, httpsPort: number, listen: number, bind: string) {
    this.bind = bind;
    this.httpPort = httpPort;
    this.httpsPort = httpsPort;
    this.listen = listen;
  }

  static async start({ kubeconfig, flags = [], bind }: Options): Promise<Pair> {
    const pair = await Pair.withoutController(bind);
    await pair.startController(kubeconfig, flags);
    return pair;
  }

  /** For tests that start one controller after another. */
  static async withoutController(bind = '127.0.0.1'): Promise<Pair> {
    const pair = new Pair(await freePort(), await freePort(), await freePort(), bind);
    await pair.startDataplane();
    return pair;
  }

  async startDataplane(): Promise<void> {
    const ports = ['--http-port', `${this.httpPort}`, '--https-port', `${this.httpsPort}`, '--bind', this.bind, '--workers', '2'];
    const rest = ['--admin-socket', this.socket, '--admin-listen', `127.0.0.1:${await freePort()}`];
    this.dataplane = new Program(SLUICE, ['dataplane', '--state-dir', this.folder.file('state'), ...ports, ...rest]);
    await this.answers('the data plane', this.dataplane, () => this.admin('/health'));
  }

  async startController(kubeconfig: string, flags: readonly string[] = []): Promise<void> {
    const map = ['--port-map', `80:${this.httpPort},443:${this.httpsPort}`];
    const args = ['controller', '--kubernetes', ...map, '--kubeconfig', kubeconfig, '--dataplane', `unix:${this.socket}`];
    this.controller = new Program(SLUICE, [...args, '--listen', `127.0.0.1:${this.listen}`, ...flags]);
    await this.answers('the controller', this.controller, () => ask({ port: this.listen }, '/health'));
  }

  async stopController(): Promise<void> {
    await this.controller?.[Symbol.asyncDispose]();
  }

  visit(host: string, path = '/', headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return visit(this.httpPort, host, path, { headers });
  }

  /** Waits until a visit gets this status, and this text if one is given. */
  async serves(status: number, host: string, path = '/', text = ''): Promise<Answer> {
    let last = '';
    const look = async () => {
      const answer = await this.visit(host, path);
      last = `${answer.status} ${answer.text}`;
      return answer.status === status && answer.text.includes(text) ? answer : undefined;
    };
    return await until(`${status} for ${host}${path}`, look).catch(async (error: Error) => {
      throw new Error(`${error.message}; last ${last}\n${await this.command('explain', host)}\n${this.controller?.output.slice(-2_000)}`);
    });
  }

  /** The serial number of the certificate that it presents for a name. */
  async presents(name: string): Promise<string> {
    const socket = connect({ host: '127.0.0.1', port: this.httpsPort, servername: name, rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const { serialNumber } = socket.getPeerCertificate();
    socket.destroy();
    return serialNumber;
  }

  /** The status line of a response over TLS. @throws the error that ended the connection. */
  async secureLine(host: string, options: Pick<ConnectionOptions, 'cert' | 'key'>): Promise<string> {
    const socket = connect({ ...options, host: '127.0.0.1', port: this.httpsPort, servername: host, rejectUnauthorized: false });
    socket.end(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    let text = '';
    for await (const piece of socket) text += String(piece);
    return text.slice(0, text.indexOf('\r\n'));
  }

  admin(path: string): Promise<Answer> {
    return ask({ socketPath: this.socket }, path);
  }

  /** Runs a sluice command against its socket. @returns its output. */
  async command(...args: string[]): Promise<string> {
    const { stdout, stderr } = await run([...args, '--admin', `unix:${this.socket}`]);
    return stdout + stderr;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopController();
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
