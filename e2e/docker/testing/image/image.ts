import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type Docker from 'dockerode';
import { build } from 'esbuild';
import { Folder } from '../../../testing/dataplane.ts';

/** The image of every test container: busybox, Node with its libraries, and the app on port 80. */
export const IMAGE = 'sluice-tests:base';

/** Builds it from this machine's files, since a registry may not be available. */
export async function importImage(docker: Docker): Promise<void> {
  using root = new Folder();
  fillRoot(root.path, [process.execPath]);
  // Tests start a hundred of it: 27 ms of CPU time each instead of 70, since `require` loads only what is used of node:http.
  const output = { outfile: join(root.path, 'server.cjs'), format: 'cjs', platform: 'node' } as const;
  await build({ entryPoints: [join(import.meta.dirname, 'server.ts')], ...output });
  await importFolder(docker, root.path, IMAGE, ['CMD ["node", "/server.cjs"]', 'EXPOSE 80']);
}

/** Turns a folder into an image with one layer. @throws with the engine's error. */
export async function importFolder(docker: Docker, folder: string, name: string, changes: readonly string[] = []): Promise<void> {
  const tar = spawn('tar', ['--numeric-owner', '-C', folder, '-c', '.'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [repo = name, tag = 'latest'] = name.split(':');
  const progress = await docker.importImage(tar.stdout, { repo, tag, changes });
  await new Promise((resolve, reject) => docker.modem.followProgress(progress, (error) => (error ? reject(error) : resolve(undefined))));
}

/** A small root file system: busybox, and programs of this machine with their shared libraries. */
export function fillRoot(root: string, programs: readonly string[]): void {
  for (const folder of ['bin', 'sbin', 'usr/bin', 'usr/sbin', 'usr/local/bin', 'etc', 'tmp', 'www', 'root', 'var/lib'])
    mkdirSync(join(root, folder), { recursive: true });
  copyFileSync('/usr/bin/busybox', join(root, 'bin/busybox'));
  const { status, stderr } = spawnSync('chroot', [root, '/bin/busybox', '--install', '-s'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`busybox does not lay itself out: ${stderr}`);
  for (const program of programs) {
    copyFileSync(program, join(root, 'usr/local/bin', basename(program)));
    for (const library of librariesOf(program)) {
      mkdirSync(join(root, dirname(library)), { recursive: true });
      copyFileSync(library, join(root, library));
    }
  }
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0::/root:/bin/sh\n');
}

/** The shared libraries of a program, including the loader. */
function librariesOf(program: string): string[] {
  const { stdout } = spawnSync('ldd', [program], { encoding: 'utf8' });
  return [...stdout.matchAll(/(\/lib\S+) \(/g)].map(([, path = '']) => path);
}
