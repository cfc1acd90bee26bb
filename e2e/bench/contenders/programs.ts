import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** A folder with programs that are preferred to those in PATH. */
const FOLDER = 'SLUICE_BENCH_PEERS';

/** The path of a program: in the folder of SLUICE_BENCH_PEERS, in PATH, or where Debian has servers; null if it is not found. */
export function pathOf(name: string, { env = process.env } = {}): string | null {
  const places = [env[FOLDER] ?? '', ...(env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return (
    places
      .filter(Boolean)
      .map((place) => join(place, name))
      .find(isProgram) ?? null
  );
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The version that a program prints, for example `1.22.1`; null if it prints none. */
export function versionOf(path: string, ...argv: readonly string[]): string | null {
  const { stdout, stderr } = spawnSync(path, argv, { encoding: 'utf8' });
  return /\d+\.\d+(?:\.\d+)?/.exec(`${stdout}${stderr}`)?.[0] ?? null;
}
