import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY, TESTED } from './process.ts';

const PROGRAMS = TESTED === REPOSITORY ? ['shared', 'controller', 'dataplane'] : ['dist'];

/** A separate copy in `directory` of what is tested, built or not, whose files may be changed. */
export function installIn(directory: string): void {
  mkdirSync(directory);
  for (const name of [...PROGRAMS, 'package.json', 'sluice']) cpSync(join(TESTED, name), join(directory, name), { recursive: true });
  symlinkSync(join(REPOSITORY, 'node_modules'), join(directory, 'node_modules'));
}
