import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NAME } from '../../name.ts';
import { LAUNCHER_VARIABLE } from './supervised.ts';

export type Build = { readonly version: string; readonly commit: string | null };

const here = dirname(fileURLToPath(import.meta.url));

/** The running version, read at startup since another version may be installed meanwhile. */
export const runningBuild: Build = buildAt(packageRoot(here));

/** The version that the next start would run: the launcher's as it was called, or the one installed at our path. */
export function installedVersion(env: Readonly<Record<string, string | undefined>>): string {
  const launcher = env[LAUNCHER_VARIABLE];
  const root = launcher !== undefined && existsSync(launcher) ? packageRoot(dirname(realpathSync(launcher))) : packageRoot(here);
  return (root === undefined ? undefined : versionIn(root)) ?? 'unknown';
}

function buildAt(root: string | undefined): Build {
  if (root === undefined) return { version: 'unknown', commit: null };
  return { version: versionIn(root) ?? 'unknown', commit: commitIn(join(root, '.git')) };
}

/** The nearest parent directory with our package.json; sources and `dist/` have different depths. */
export function packageRoot(from: string): string | undefined {
  for (let at = from; ; at = dirname(at)) {
    if (versionIn(at) !== undefined) return at;
    if (at === dirname(at)) return undefined;
  }
}

/** undefined if there is none, or the file is being replaced at this moment. */
function versionIn(directory: string): string | undefined {
  const path = join(directory, 'package.json');
  if (!existsSync(path)) return undefined;
  try {
    const { name, version } = JSON.parse(readFileSync(path, 'utf8')) as { name?: string; version?: string };
    return name === NAME ? version : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Reads the commit from git's files, since git may not be installed. */
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
