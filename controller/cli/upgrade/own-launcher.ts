import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NAME } from '../../../shared/name.ts';
import { packageRoot } from '../../../shared/runtime/process/build.ts';

/** The launcher next to these files, used if they were started without one. Sources and `dist/` have different depths. */
export function ownLauncher(): string {
  const root = packageRoot(dirname(fileURLToPath(import.meta.url)));
  if (root === undefined) throw new Error(`these files are not in a package that is called ${NAME}`);
  return join(root, NAME);
}
