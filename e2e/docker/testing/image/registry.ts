import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { REPOSITORY } from '../../../testing/process.ts';

type Locked = {
  readonly name?: string;
  readonly version: string;
  readonly integrity: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
};

/** Where npm caches archives, named by their checksum. */
const CACHE = join(process.env.npm_config_cache ?? join(homedir(), '.npm'), '_cacache/content-v2');

/**
 * A registry with exactly the packages of the lockfile, served from npm's cache, where `npm ci` stored them for this
 * checkout. A build without network access installs from it and verifies the same checksums.
 */
export class LockedRegistry {
  /** Requested packages that are not in npm's cache. */
  readonly lacking: string[] = [];
  private readonly packages = lockedPackages();
  private readonly server: Server;

  private constructor() {
    this.server = createServer((request, response) => {
      const path = decodeURIComponent(new URL(request.url ?? '/', 'http://registry').pathname.slice(1));
      const [name = '', version] = path.split('/-/');
      const archive = this.packages.get(name)?.find((one) => one.version === version);
      if (archive && existsSync(fileOf(archive))) {
        createReadStream(fileOf(archive)).pipe(response);
        return;
      }
      if (version !== undefined) this.lacking.push(path);
      const versions = version === undefined ? this.packages.get(name) : undefined;
      response.writeHead(versions ? 200 : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify(versions ? listing(name, versions, `http://${request.headers.host}`) : { error: 'not here' }));
    });
  }

  /** Listens on all addresses, so that a build's container reaches it over its network's gateway. */
  static start(): Promise<LockedRegistry> {
    const registry = new LockedRegistry();
    return new Promise((resolve) => registry.server.listen(0, () => resolve(registry)));
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  [Symbol.dispose](): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

function lockedPackages(): Map<string, Locked[]> {
  const { packages } = JSON.parse(readFileSync(join(REPOSITORY, 'package-lock.json'), 'utf8')) as { packages: Record<string, Locked> };
  const found = new Map<string, Locked[]>();
  for (const [path, locked] of Object.entries(packages)) {
    const name = locked.name ?? path.split('node_modules/').at(-1) ?? '';
    if (path !== '') found.set(name, [...(found.get(name) ?? []), locked]);
  }
  return found;
}

function listing(name: string, versions: readonly Locked[], registry: string): object {
  const entries = versions.map((locked) => {
    const dist = { integrity: locked.integrity, tarball: `${registry}/${name}/-/${locked.version}` };
    return [locked.version, { ...locked, name, dist }];
  });
  return { name, 'dist-tags': { latest: versions[0]?.version }, versions: Object.fromEntries(entries) };
}

function fileOf({ integrity }: Locked): string {
  const [algorithm = '', sum = ''] = integrity.split('-');
  const hex = Buffer.from(sum, 'base64').toString('hex');
  return join(CACHE, algorithm, hex.slice(0, 2), hex.slice(2, 4), hex.slice(4));
}
