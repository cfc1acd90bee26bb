import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import Docker from 'dockerode';
import { until } from '../../../shared/runtime/testing/until.ts';
import { Folder } from '../../testing/dataplane.ts';
import { Program } from '../../testing/process.ts';
import { importImage } from './image/image.ts';
import { endRemains } from './remains.ts';

/** The network shared by the test apps. */
export const APPS = 'apps';
/** Fixed, so that a test can choose an address in it. */
const SUBNET = '10.213.0.0/16';
/** The address at which its containers reach servers of the tests. */
export const GATEWAY = '10.213.0.1';
/** A subnet for each other network. All are within this test file's own network namespace. */
const POOL = 'base=10.214.0.0/16,size=20';

/** A separate container engine for the tests, with its state in their folder and its bridges in their network. */
export class Engine {
  readonly docker: Docker;
  readonly socket: string;
  private readonly folder: Folder;
  private program: Program;

  private constructor(folder: Folder) {
    this.folder = folder;
    this.socket = folder.file('docker.sock');
    this.docker = new Docker({ socketPath: this.socket });
    this.keepInMemory();
    this.program = this.launch();
  }

  /** Starts an engine with the test image and network. @throws with its output if it cannot run here. */
  static async start(): Promise<Engine> {
    const engine = new Engine(new Folder());
    try {
      await engine.answers();
      await importImage(engine.docker);
      await engine.docker.createNetwork({ Name: APPS, IPAM: { Config: [{ Subnet: SUBNET, Gateway: GATEWAY }] } });
      return engine;
    } catch (error) {
      await engine[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Stops the engine while its containers keep running, as with `live-restore`. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await this.program.kill(signal);
  }

  async startAgain(): Promise<void> {
    this.program = this.launch();
    await this.answers();
  }

  /** Stops it and all containers, and discards their data. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.program.kill('SIGKILL');
    await endRemains(this.folder.path, this.cgroup);
    this.folder[Symbol.dispose]();
  }

  /** A separate folder, so that its remains can be identified. */
  private get cgroup(): string {
    return basename(this.folder.path);
  }

  /** In memory if possible, because layers and state are synced so often that a disk would dominate the run time. */
  private keepInMemory(): void {
    mkdirSync(this.folder.file('data'));
    const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', this.folder.file('data')], { encoding: 'utf8' });
    if (status !== 0) throw new Error(`no file system in memory for the engine: ${stderr}`);
  }

  private launch(): Program {
    const { folder } = this;
    writeFileSync(folder.file('daemon.json'), '{}');
    const flags = {
      host: `unix://${this.socket}`,
      'config-file': folder.file('daemon.json'),
      'data-root': folder.file('data'),
      'exec-root': folder.file('exec'),
      pidfile: folder.file('docker.pid'),
      'log-level': 'warn',
      'live-restore': true,
      // No default bridge and no firewall rules: containers use networks that the tests create.
      'cgroup-parent': `/${this.cgroup}`,
      'exec-opt': 'native.cgroupdriver=cgroupfs',
      bridge: 'none',
      'default-address-pool': POOL,
      iptables: false,
      ip6tables: false,
      'ip-forward': false,
    };
    const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
    // A killed engine may leave its containerd as a zombie.
    rmSync(folder.file('exec/containerd/containerd.pid'), { force: true });
    return new Program('setpriv', ['--pdeathsig', 'KILL', 'dockerd', ...args], { HOME: folder.path, PATH: systemPath(), GOGC: '400' });
  }

  private async answers(): Promise<void> {
    await until('the container engine to answer', async () => this.program.exit !== null || (await this.docker.ping()));
    if (this.program.exit !== null) throw new Error(`a container engine cannot run here:\n${this.program.output.slice(-2_000)}`);
  }
}

/** iptables, runc and similar programs are in sbin, which a user's PATH may lack. */
const systemPath = (): string => `${process.env.PATH}:/usr/sbin:/sbin`;
