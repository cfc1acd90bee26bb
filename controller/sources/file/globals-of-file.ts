import type { Globals } from '../../../shared/settings.ts';
import { beginReading, partsOf, readGlobals } from './parts.ts';
import { filesOnDisk } from './text/files.ts';
import { readContent } from './text/read.ts';
import type { Environment } from './variables/read-context.ts';

/**
 * The globals of the file at `path`: as `compileFile` returns them, but sites after a block of globals are not read, as nothing in them can
 * change it. The start of the data plane waits for this, so what reads sites is loaded only if it is needed.
 * @returns null if the file has errors and no valid block.
 */
export async function globalsOfFile(path: string, env: Environment): Promise<Globals | null> {
  const content = await readContent(path);
  if (!content.ok) return null;
  const reading = beginReading(content.value, path, env, filesOnDisk());
  for (const { part, errorsBefore } of partsOf(path, env, reading)) {
    if (part.kind === 'site') break;
    // The controller reports the errors.
    return readGlobals(part.block, errorsBefore, reading, () => '');
  }
  // Without globals, they are all defaults if the rest is valid.
  const { compileBytes } = await import('./compile.ts');
  return compileBytes(content.value, path, env, filesOnDisk()).globals;
}
