import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NAME } from '../name.ts';

/** What this is: the package's version, and the git commit where one is known. */
export function buildInfo(): { version: string; commit: string | null } {
  const root = packageRoot(dirname(fileURLToPath(import.meta.url)));
  if (root === undefined) return { version: 'unknown', commit: null };
  return { version: versionIn(root) ?? 'unknown', commit: commitIn(join(root, '.git')) };
}

/** The nearest directory upwards that holds this package; sources and `dist/` lie at different depths. */
function packageRoot(from: string): string | undefined {
  for (let at = from; ; at = dirname(at)) {
    if (versionIn(at) !== undefined) return at;
    if (at === dirname(at)) return undefined;
  }
}

function versionIn(directory: string): string | undefined {
  const path = join(directory, 'package.json');
  if (!existsSync(path)) return undefined;
  const { name, version } = JSON.parse(readFileSync(path, 'utf8')) as { name?: string; version?: string };
  return name === NAME ? version : undefined;
}

/** Reads the commit from the files themselves: git may not be installed. */
function commitIn(git: string): string | null {
  const read = (path: string): string | null => (existsSync(join(git, path)) ? readFileSync(join(git, path), 'utf8').trim() : null);
  if (!existsSync(join(git, 'HEAD'))) return null;
  const head = read('HEAD') ?? '';
  if (!head.startsWith('ref: ')) return head.slice(0, 12) || null;
  const ref = head.slice('ref: '.length);
  const packed = read('packed-refs')
    ?.split('\n')
    .find((line) => line.endsWith(` ${ref}`));
  return (read(ref) ?? packed)?.slice(0, 12) ?? null;
}
