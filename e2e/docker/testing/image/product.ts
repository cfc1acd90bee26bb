import { realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Folder } from '../../../testing/dataplane.ts';
import { Program, REPOSITORY } from '../../../testing/process.ts';
import { APPS, type Engine, GATEWAY } from '../engine.ts';
import { fillRoot, IMAGE, importFolder } from './image.ts';
import { LockedRegistry } from './registry.ts';

export const PRODUCT = 'sluice';
const BUILDER = 'sluice-tests:builder';

/** Builds the product's image with its Dockerfile, on base images made here. @throws with the build's output. */
export async function buildProduct(engine: Engine): Promise<void> {
  using registry = await LockedRegistry.start();
  await buildBuilder(engine, registry.port);
  const args = ['--build-arg', `BUILDER=${BUILDER}`, '--build-arg', `BASE=${IMAGE}`, '--tag', PRODUCT];
  await build(engine, [...args, '--file', join(REPOSITORY, 'deploy/docker/Dockerfile'), REPOSITORY]).catch((error: Error) => {
    const { lacking } = registry;
    throw lacking.length === 0 ? error : new Error(`npm's cache lacks ${lacking.join(', ')}: run npm ci\n${error.message}`);
  });
}

/** The test image with npm, which uses the test registry. */
async function buildBuilder(engine: Engine, port: number): Promise<void> {
  using folder = new Folder();
  const lines = [
    `FROM ${IMAGE}`,
    'COPY . /usr/lib/npm',
    'RUN ln -s /usr/lib/npm/bin/npm-cli.js /usr/bin/npm',
    `ENV npm_config_registry=http://${GATEWAY}:${port}/ npm_config_update_notifier=false npm_config_fetch_retries=0`,
  ];
  writeFileSync(folder.file('Dockerfile'), lines.join('\n'));
  await build(engine, ['--tag', BUILDER, '--file', folder.file('Dockerfile'), npmFolder()]);
}

/** @throws with the build's output if it fails or takes too long. */
async function build(engine: Engine, args: readonly string[]): Promise<void> {
  const env = { DOCKER_HOST: `unix://${engine.socket}`, DOCKER_BUILDKIT: '0' };
  await using program = new Program('docker', ['build', '--network', APPS, ...args], env);
  // Only ends a build that hangs: on a busy machine one took more than 90 s.
  const tooLong = setTimeout(() => program.child.kill('SIGKILL'), 300_000);
  const { code } = await program.exited;
  clearTimeout(tooLong);
  if (code !== 0) throw new Error(`the image cannot be built (${code}):\n${program.output.slice(-3_000)}`);
}

/** The folder of this machine's npm, which its bin links into. */
function npmFolder(): string {
  const places = (process.env.PATH ?? '').split(':').map((place) => join(place, 'npm'));
  for (const place of places) {
    try {
      return dirname(dirname(realpathSync(place)));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  throw new Error('npm is not on this PATH');
}

/** The same image with a different id, like that of a next version. */
export async function rebuildProduct(engine: Engine): Promise<void> {
  using folder = new Folder();
  writeFileSync(folder.file('Dockerfile'), `FROM ${PRODUCT}\nLABEL next=1\n`);
  await build(engine, ['--tag', PRODUCT, folder.path]);
}

/** The idle image that holds a network, under its name in the compose file. */
export async function importPause(engine: Engine): Promise<void> {
  using root = new Folder();
  fillRoot(root.path, []);
  await importFolder(engine.docker, root.path, 'registry.k8s.io/pause:3.10', ['CMD ["sleep", "1000000"]', 'USER 65535:65535']);
}

/** The overlay's proxy, made from this machine's HAProxy, under its name in the overlay. */
export async function importSocketProxy(engine: Engine): Promise<void> {
  using root = new Folder();
  fillRoot(root.path, ['/usr/sbin/haproxy']);
  const command = 'CMD ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]';
  await importFolder(engine.docker, root.path, 'haproxy:3.2-alpine', [command, 'USER 99:99']);
}
