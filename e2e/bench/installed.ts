import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Folder } from '../harness/dataplane.ts';
import { REPOSITORY } from '../harness/process.ts';

/** Builds dist/. @returns the launcher as in an installed package: next to dist/ and without sources. */
export function installed(folder: Folder): string {
  const built = spawnSync('sh', ['scripts/build.sh'], { cwd: REPOSITORY, stdio: 'inherit' });
  if (built.status !== 0) throw new Error('dist/ could not be built');
  const root = folder.file('installed');
  mkdirSync(root);
  for (const name of ['dist', 'node_modules']) symlinkSync(join(REPOSITORY, name), join(root, name));
  copyFileSync(join(REPOSITORY, 'sluice'), join(root, 'sluice'));
  return join(root, 'sluice');
}
