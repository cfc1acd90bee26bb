import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NAME } from '../../../shared/name.ts';

/** The launcher next to these files, used if they were started without one. Sources and `dist/` have different depths. */
export function ownLauncher(): string {
  let at = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(at, 'package.json')) && at !== dirname(at)) at = dirname(at);
  return join(at, NAME);
}
