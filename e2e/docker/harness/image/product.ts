import { cpSync, mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Folder } from '../../../harness/dataplane.ts';
import { Program, REPOSITORY } from '../../../harness/process.ts';
import { APPS, type Engine } from '../engine.ts';
import { fillRoot, IMAGE, importFolder } from './image.ts';
import { LockedRegistry } from './registry.ts';

export const PRODUCT = 'sluice';
const BUILDER = 'sluice-tests:builder';

/** Builds the product's image with its own Dockerfile, on images made here. @throws with the build's output. */
export async function buildProduct(engine: Engine): Promise<void> {
  using registry = await LockedRegistry.start();
  await importBuilder(engine, registry.port);
  const args = ['build', '--network', APPS, '--build-arg', `BUILDER=${BUILDER}`, '--build-arg', `BASE=${IMAGE}`];
  const file = join(REPOSITORY, 'deploy/docker/Dockerfile');
  const env = { DOCKER_HOST: `unix://${engine.socket}`, DOCKER_BUILDKIT: '0' };
  await using program = new Program('docker', [...args, '--tag', PRODUCT, '--file', file, REPOSITORY], env);
  const { code } = await program.exited;
  const lacking = registry.lacking.length > 0 ? `npm's cache lacks ${registry.lacking.join(', ')}: run npm ci\n` : '';
  if (code !== 0) throw new Error(`the image cannot be built (${code}):\n${lacking}${program.output.slice(-3_000)}`);
}

/** Like the tests' own image, with npm, which asks the registry of the tests. */
async function importBuilder(engine: Engine, port: number): Promise<void> {
  const { IPAM } = await engine.docker.getNetwork(APPS).inspect();
  const gateway = IPAM?.Config?.[0]?.Gateway;
  using root = new Folder();
  fillRoot(root.path, [process.execPath]);
  const npm = 'usr/lib/node_modules/npm';
  mkdirSync(join(root.path, dirname(npm)), { recursive: true });
  cpSync(npmFolder(), join(root.path, npm), { recursive: true });
  symlinkSync(`/${npm}/bin/npm-cli.js`, join(root.path, 'usr/bin/npm'));
  await importFolder(engine.docker, root.path, BUILDER, [
    `ENV npm_config_registry=http://${gateway}:${port}/ npm_config_update_notifier=false`,
  ]);
}

/** Where this machine's npm lies, whose bin is a link into it. */
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

/** The proxy of the overlay, from this machine's HAProxy, under the name that the overlay gives it. */
export async function importSocketProxy(engine: Engine): Promise<void> {
  using root = new Folder();
  fillRoot(root.path, ['/usr/sbin/haproxy']);
  const command = 'CMD ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]';
  await importFolder(engine.docker, root.path, 'haproxy:3.2-alpine', [command, 'USER 99:99']);
}
