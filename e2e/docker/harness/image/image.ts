import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type Docker from 'dockerode';
import { Folder } from '../../../harness/dataplane.ts';

/** What every container of the tests is made from: busybox, Node with its libraries, and the app. */
export const IMAGE = 'sluice-tests:base';

/** Makes it from this machine's own files, since no registry can be counted on. */
export async function importImage(docker: Docker): Promise<void> {
  using root = new Folder();
  fillRoot(root.path);
  await importFolder(docker, root.path, IMAGE);
}

/** A folder becomes an image of one layer. @throws with the engine's words. */
export async function importFolder(docker: Docker, folder: string, name: string): Promise<void> {
  const tar = spawn('tar', ['--numeric-owner', '-C', folder, '-c', '.'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [repo = name, tag = 'latest'] = name.split(':');
  const progress = await docker.importImage(tar.stdout, { repo, tag });
  await new Promise((resolve, reject) => docker.modem.followProgress(progress, (error) => (error ? reject(error) : resolve(undefined))));
}

/** A small root file system: programs of busybox, Node and the shared libraries that it names. */
export function fillRoot(root: string): void {
  for (const folder of ['bin', 'sbin', 'usr/bin', 'usr/sbin', 'usr/local/bin', 'etc', 'tmp', 'app', 'www', 'root', 'var/lib'])
    mkdirSync(join(root, folder), { recursive: true });
  copyFileSync('/usr/bin/busybox', join(root, 'bin/busybox'));
  const { status, stderr } = spawnSync('chroot', [root, '/bin/busybox', '--install', '-s'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`busybox does not lay itself out: ${stderr}`);
  copyFileSync(process.execPath, join(root, 'usr/local/bin/node'));
  for (const library of librariesOf(process.execPath)) {
    mkdirSync(join(root, dirname(library)), { recursive: true });
    copyFileSync(library, join(root, library));
  }
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0::/root:/bin/sh\n');
  copyFileSync(join(import.meta.dirname, 'server.ts'), join(root, 'app/server.ts'));
}

/** The shared libraries of a program, the loader among them. */
function librariesOf(program: string): string[] {
  const { stdout } = spawnSync('ldd', [program], { encoding: 'utf8' });
  return [...stdout.matchAll(/(\/lib\S+) \(/g)].map(([, path = '']) => path);
}
