import { renameSync, writeFileSync } from 'node:fs';
import { makeChain, makePair, type Signer } from '../../../shared/certificates/testing/pairs.ts';
import { Folder, TOKEN } from '../../testing/dataplane.ts';
import { DATAPLANE, type Exit, type Program, SLUICE } from '../../testing/process.ts';
import { EDGE, TwoMachines } from './two-machines.ts';

const PORT = 6190;
export const ADDRESS = `https://${EDGE}:${PORT}`;
const HTTP_PORT = 8080;

/** Requests a page of the site and prints it, as a visitor on the other machine. */
const VISIT = `require('node:http').get({host:'${EDGE}',port:${HTTP_PORT},headers:{host:process.argv[1]}},(r)=>r.pipe(process.stdout))`;

/** Requests it again and again until its text is the given one. */
const AWAIT = `const again=()=>setTimeout(ask,20);
const ask=()=>require('node:http').get({host:'${EDGE}',port:${HTTP_PORT},headers:{host:process.argv[1]},agent:false},async(r)=>{
  if((await r.toArray()).join('')!==process.argv[2])again()
}).on('error',again);
setTimeout(()=>process.exit(1),60_000).unref();
ask()`;

type Outcome = Exit & { readonly stdout: string; readonly stderr: string };

/** A data plane on one machine and its clients on the other. */
export class RemoteScene {
  readonly folder = new Folder();
  readonly roots = this.folder.file('ca.pem');
  readonly file = this.folder.file('Sluicefile');
  private readonly machines = new TwoMachines();
  private readonly programs: Program[] = [];
  private readonly signer: Signer;
  private readonly middle: string;

  private constructor({ root, middle }: Awaited<ReturnType<typeof makeChain>>) {
    this.signer = middle.signs;
    this.middle = middle.certificate;
    writeFileSync(this.roots, root.certificate);
  }

  static async open(): Promise<RemoteScene> {
    const scene = new RemoteScene(await makeChain([EDGE]));
    await scene.certify();
    return scene;
  }

  /** Installs a new certificate for the data plane's address, as a renewal does: from our authority or a foreign one. */
  async certify(by: 'ours' | 'stranger' = 'ours'): Promise<void> {
    const pair = await makePair([EDGE], by === 'ours' ? { signer: this.signer } : {});
    this.replace('tls.key', pair.privateKey);
    this.replace('tls.crt', pair.certificate + (by === 'ours' ? this.middle : ''));
  }

  /** Installs a given pair and root. */
  install(pair: { readonly certificate: string; readonly privateKey: string; readonly root: string }): void {
    this.replace('tls.key', pair.privateKey);
    this.replace('tls.crt', pair.certificate);
    this.replace('ca.pem', pair.root);
  }

  write(sites: string): void {
    writeFileSync(this.file, sites);
  }

  async startDataplane(...more: string[]): Promise<Program> {
    const flags = ['--http-port', `${HTTP_PORT}`, '--workers', '1', '--state-dir', this.folder.file('state')];
    const admin = ['--admin-listen', `0.0.0.0:${PORT}`, '--admin-allow-remote'];
    const tls = ['--admin-tls-cert', this.folder.file('tls.crt'), '--admin-tls-key', this.folder.file('tls.key')];
    const program = this.start('edge', [...DATAPLANE, ...flags, ...admin, ...tls, ...more], { SLUICE_ADMIN_TOKEN: TOKEN });
    await program.said('data plane started');
    return program;
  }

  /** A controller on the other machine with these sites in its file. */
  startController(sites: string, dataplane = ADDRESS): Program {
    this.write(sites);
    const flags = ['controller', '--config', this.file, '--dataplane', dataplane, '--dataplane-ca', this.roots];
    return this.start('office', [SLUICE, ...flags], { SLUICE_ADMIN_TOKEN: TOKEN });
  }

  /** Runs a command on the other machine to completion. */
  async command(args: readonly string[], env: Readonly<Record<string, string>> = { SLUICE_ADMIN_TOKEN: TOKEN }): Promise<Outcome> {
    return this.run([SLUICE, ...args], env);
  }

  /** The response that a visitor on the other machine gets. */
  async visit(host: string): Promise<string> {
    return (await this.run([process.execPath, '-e', VISIT, host])).stdout;
  }

  /** Waits until a visitor on the other machine gets this text: one process asks, rather than one per request. */
  async sees(host: string, text: string): Promise<void> {
    const { code, stderr } = await this.run([process.execPath, '-e', AWAIT, host, text]);
    if (code !== 0) throw new Error(`${host} never responded with ${text}\n${stderr}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.programs.map((program) => program[Symbol.asyncDispose]()));
    this.machines[Symbol.dispose]();
    this.folder[Symbol.dispose]();
  }

  private start(...[machine, command, env]: Parameters<TwoMachines['start']>): Program {
    const program = this.machines.start(machine, command, env);
    this.programs.push(program);
    return program;
  }

  private async run(command: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Outcome> {
    const program = this.start('office', command, env);
    const exit = await program.exited;
    return { ...exit, stdout: program.stdout, stderr: program.stderr };
  }

  private replace(name: string, text: string): void {
    writeFileSync(this.folder.file(`${name}.new`), text);
    renameSync(this.folder.file(`${name}.new`), this.folder.file(name));
  }
}
