import { existsSync, readFileSync } from 'node:fs';

type Package = {
  readonly version?: string;
  readonly integrity?: string;
  readonly optional?: boolean;
  readonly os?: unknown;
  readonly cpu?: unknown;
};

/** Npm's own record of what it has installed. */
const RECORD = 'node_modules/.package-lock.json';
const packagesIn = (path: string) => (JSON.parse(readFileSync(path, 'utf8')) as { packages: Record<string, Package> }).packages;

/** Whether every package in the lockfile is installed in the locked version. */
function isComplete(): boolean {
  if (!existsSync(RECORD)) return false;
  const recorded = packagesIn(RECORD);
  return Object.entries(packagesIn('package-lock.json')).every(([path, locked]) => {
    const installed = recorded[path];
    // The root, and packages for other platforms, which npm does not install.
    if (path === '' || (installed === undefined && locked.optional && (locked.os ?? locked.cpu) !== undefined)) return true;
    return installed?.version === locked.version && installed?.integrity === locked.integrity && existsSync(`${path}/package.json`);
  });
}

process.exitCode = isComplete() ? 0 : 1;
