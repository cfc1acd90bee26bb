import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NAME } from '../../../shared/name.ts';

/** The launcher beside these files, used when they were started without it. Sources and `dist/` lie at different depths. */
export function ownLauncher(): string {
  let at = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(at, 'package.json')) && at !== dirname(at)) at = dirname(at);
  return join(at, NAME);
}
