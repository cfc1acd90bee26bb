import { execFile } from 'node:child_process';
import { chmodSync, lstatSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Program, REPOSITORY, SLUICE } from '../../../testing/process.ts';
import type { ContainerSpec, PodSpec } from './pod.ts';

/** Images: the program that runs without `command`. Nothing is pulled; the programs are those of this checkout. */
const IMAGES: ReadonlyMap<string, readonly string[]> = new Map([
  ['sluice', ['/opt/bin/sluice']],
  ['app', [process.execPath, join(REPOSITORY, 'e2e/kubernetes/testing/pods/sample-app.ts')]],
]);

/** What Node has compiled for the processes of containers, whose users may not write elsewhere; undefined if nothing is kept. */
const COMPILED = process.env.NODE_COMPILE_CACHE && join(process.env.NODE_COMPILE_CACHE, 'containers');
const COMPILED_INSIDE = '/opt/compiled';

const nameOf = (image: string): string => image.replace(/^.*\//, '').replace(/[:@].*$/, '');

/** Whether the pods of an image run as processes of their own. */
export const isImage = (image: string, name: string): boolean => nameOf(image) === name;

export type ContainerOptions = {
  readonly spec: ContainerSpec;
  readonly pod: PodSpec;
  /** The network of its pod, for nsenter. */
  readonly network: string;
  /** Its root is built here. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  pathOf(volume: string): string;
};

/** A race that it loses does not keep the tests running. */
const pause = (seconds: number): Promise<void> => wait(seconds * 1_000, undefined, { ref: false });

const GUARD = 'set -eu; ';
/** Folders of this machine that are part of every image. */
const SYSTEM = ['/usr', '/bin', '/lib', '/lib64', '/sbin'];

/**
 * A container: a process with its own root, which may be read-only, its own process ids and mounts, the user of its specification and no
 * capabilities, in the network of its pod.
 */
export class Container {
  readonly spec: ContainerSpec;
  private readonly options: ContainerOptions;
  program: Program;
  restarts = 0;

  constructor(options: ContainerOptions) {
    this.options = options;
    this.spec = options.spec;
    this.program = this.launch();
  }

  restart(): void {
    this.restarts++;
    this.program = this.launch();
  }

  /** Everything it has written, for the messages of tests. */
  get output(): string {
    return this.program.output;
  }

  get hasEnded(): boolean {
    return this.program.exit !== null;
  }

  /** Runs the hook before SIGTERM; a sleep ends early if the container does. */
  async preStop(graceSecs: number): Promise<void> {
    const { sleep, exec } = this.spec.lifecycle?.preStop ?? {};
    const hook = exec ? this.exec(exec.command).then(() => undefined) : pause(sleep?.seconds ?? 0);
    await Promise.race([hook, this.program.exited, pause(graceSecs)]);
  }

  /** SIGTERM, and SIGKILL once the time has passed (s). */
  async terminate(graceSecs: number): Promise<void> {
    this.signal('SIGTERM');
    const timer = setTimeout(() => this.signal('SIGKILL'), graceSecs * 1_000);
    await this.program.exited;
    clearTimeout(timer);
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.program.exited;
  }

  /** Runs a command in it, as its user. @returns its output and exit code. */
  exec(command: readonly string[]): Promise<{ readonly code: number; readonly output: string }> {
    const first = this.firstProcess();
    if (first === null) return Promise.reject(new Error(`the container ${this.spec.name} has ended`));
    const inside = ['--target', String(first), '--mount', '--net', '--pid', '--root', '--wd'];
    return new Promise((resolve) => {
      execFile('nsenter', [...inside, ...this.asUser(), ...command], (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
        resolve({ code, output: stdout + stderr });
      });
    });
  }

  private signal(signal: NodeJS.Signals): void {
    if (!this.hasEnded) process.kill(this.firstProcess() ?? this.program.pid, signal);
  }

  /** The container's process 1 as seen from here; null if it has ended. */
  private firstProcess(): number | null {
    if (this.hasEnded) return null;
    const { pid } = this.program;
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    return child ? Number(child) : null;
  }

  private asUser(): string[] {
    const { runAsUser = 0, runAsGroup = 0, fsGroup } = this.options.pod.securityContext ?? {};
    const drops = this.spec.securityContext?.capabilities?.drop?.includes('ALL') === true;
    const compiled = COMPILED && { NODE_COMPILE_CACHE: COMPILED_INSIDE };
    const variables = Object.entries({ PATH: '/opt/bin:/usr/bin:/bin', ...compiled, ...this.options.env }).map(
      ([name, value]) => `${name}=${value}`,
    );
    const groups = fsGroup === undefined ? '--clear-groups' : `--groups=${fsGroup}`;
    return [
      ...['setpriv', `--reuid=${runAsUser}`, `--regid=${runAsGroup}`, groups, '--no-new-privs'],
      ...(drops ? ['--inh-caps=-all', '--bounding-set=-all'] : []),
      ...['env', '-i', ...variables],
    ];
  }

  private launch(): Program {
    const { spec, network, folder } = this.options;
    const root = join(folder, `${spec.name}-root`);
    mkdirSync(root, { recursive: true });
    if (COMPILED) {
      mkdirSync(COMPILED, { recursive: true });
      chmodSync(COMPILED, 0o1777);
    }
    const script = `${GUARD}${this.mounts(root).join('; ')}; exec chroot ${root} "$@"`;
    const [image, ...more] = IMAGES.get(nameOf(spec.image)) ?? [];
    if (image === undefined) throw new Error(`the tests have no image ${spec.image}`);
    const command = [...(spec.command ?? [image, ...more]), ...(spec.args ?? [])];
    const own = ['unshare', '--mount', '--pid', '--fork'];
    return new Program('nsenter', [`--net=${network}`, ...own, 'sh', '-c', script, 'sh', ...this.asUser(), ...command]);
  }

  /** Shell commands that build the root: the programs of this machine, read-only, and the volumes. */
  private mounts(root: string): string[] {
    const { spec, pathOf } = this.options;
    const isReadOnly = spec.securityContext?.readOnlyRootFilesystem === true;
    const readOnly = (path: string) => [`mount --rbind ${path} ${root}${path}`, `mount -o remount,bind,ro ${root}${path}`];
    const [links = [], folders = []] = [true, false].map((isLink) => SYSTEM.filter((path) => lstatSync(path).isSymbolicLink() === isLink));
    const ownFolders = [...folders, REPOSITORY.replace(/\/$/, '')];
    const volumes = spec.volumeMounts ?? [];
    const mountPoints = [
      ...ownFolders,
      ...(COMPILED ? [COMPILED_INSIDE] : []),
      '/proc',
      '/dev',
      ...volumes.map(({ mountPath }) => mountPath),
    ];
    // Each command is a process, so one makes all folders.
    return [
      `mount -t tmpfs -o mode=755 image ${root}`,
      `mkdir -p ${['/tmp', '/etc', '/opt/bin', ...mountPoints].map((path) => `${root}${path}`).join(' ')}`,
      ...(isReadOnly ? [] : [`chmod 1777 ${root}/tmp`]),
      ...(links.length > 0 ? [`cp -P ${links.join(' ')} ${root}/`] : []),
      ...ownFolders.flatMap(readOnly),
      `ln -s ${SLUICE} ${root}/opt/bin/sluice`,
      ...(COMPILED ? [`mount --bind ${COMPILED} ${root}${COMPILED_INSIDE}`] : []),
      `mount -t proc proc ${root}/proc`,
      `mount --rbind /dev ${root}/dev`,
      ...volumes.flatMap(({ name, mountPath, readOnly: isLocked }) => [
        `mount --bind ${pathOf(name)} ${root}${mountPath}`,
        ...(isLocked === true ? [`mount -o remount,bind,ro ${root}${mountPath}`] : []),
      ]),
      ...(isReadOnly ? [`mount -o remount,ro ${root}`] : []),
    ];
  }
}
