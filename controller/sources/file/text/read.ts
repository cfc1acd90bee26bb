import { open } from 'node:fs/promises';
import { codeOf } from '../../../../shared/runtime/error-code.ts';
import { accepted, type Parsed, refused } from '../../../../shared/values/parsed.ts';

/** Enough for far more than 100,000 sites (bytes). */
export const LARGEST = 64 * 1_048_576;
export const TOO_LARGE = 'it is larger than 64 MB, so it is not a config file';
const CHUNK = 262_144;

export const NO_FILE = 'there is no such file';
const REASONS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', NO_FILE],
  ['ENOTDIR', NO_FILE],
  ['EACCES', 'it may not be read: permission denied'],
  ['EPERM', 'it may not be read: permission denied'],
  ['EISDIR', 'it is a directory: name the file in it'],
  ['ELOOP', 'its symbolic links form a loop'],
]);

/** How long a config file may take before it is said that something waits for it (ms), and what that may be due to. */
export const SLOW_MS = 5_000;
export const WHY_SLOW = 'its disk does not answer';

/** The bytes of a file, at most 64 MB. The reason of a refusal is for display. */
export async function readContent(path: string): Promise<Parsed<Buffer>> {
  try {
    await using file = await open(path);
    const chunks: Buffer[] = [];
    let total = 0;
    for (;;) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK);
      if (bytesRead === 0) return accepted(Buffer.concat(chunks));
      total += bytesRead;
      if (total > LARGEST) return refused(TOO_LARGE);
      chunks.push(buffer.subarray(0, bytesRead));
    }
  } catch (error) {
    return refused(reasonOf(error));
  }
}

/** Whether an error of a lookup means that the path does not exist. */
export function isMissing(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** A readable reason from an error of the file system. */
export function reasonOf(error: unknown): string {
  const code = codeOf(error);
  return REASONS.get(code) ?? `it can't be read: ${code || String(error)}`;
}
