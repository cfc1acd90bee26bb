import { copyFileSync, cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY } from './process.ts';

const SOURCES = ['shared', 'controller', 'dataplane'];
const FOLDERS = ['deploy', 'scripts'];
const FILES = ['package.json', 'package-lock.json', 'sluice'];

/**
 * A separate checkout in `directory` with all packages installed. Its sources are links to those of this one, for which Node's cache has
 * compiled code; everything else may be changed.
 */
export function checkout(directory: string): void {
  mkdirSync(directory);
  for (const name of SOURCES) symlinkSync(join(REPOSITORY, name), join(directory, name));
  for (const name of FOLDERS) cpSync(join(REPOSITORY, name), join(directory, name), { recursive: true });
  for (const name of FILES) copyFileSync(join(REPOSITORY, name), join(directory, name));
  // A folder of links instead of a link, so that npm can't change the original.
  const modules = join(directory, 'node_modules');
  mkdirSync(modules);
  for (const name of readdirSync(join(REPOSITORY, 'node_modules')))
    if (name !== '.installed-lockfile') symlinkSync(join(REPOSITORY, 'node_modules', name), join(modules, name));
  copyFileSync(join(REPOSITORY, 'package-lock.json'), join(modules, '.installed-lockfile'));
}
