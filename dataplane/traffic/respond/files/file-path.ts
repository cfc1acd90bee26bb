import { isUtf8 } from 'node:buffer';
import { segmentsOf } from '../../../../shared/values/path.ts';

/** A path below a root, as names of directories and a file. */
export type FilePath = {
  /** None of them is empty, `.` or `..`, or has a slash, backslash or NUL. */
  readonly names: readonly string[];
  /** Whether the path ends with a slash. */
  readonly slash: boolean;
};

/** Bytes; no file system of Linux has longer names. */
const LONGEST_NAME = 255;

/**
 * The path of a request below a root: dot segments are resolved as they are for blocks and rules, and then each segment is decoded exactly
 * once. @returns why there can't be one.
 */
export function filePathOf(path: string): FilePath | 'malformed' | 'missing' {
  const names: string[] = [];
  const segments = segmentsOf(path);
  const slash = segments.length === 0 || segments.at(-1)?.text === '';
  for (const { text } of segments) {
    if (text === '') continue;
    const name = nameOf(text);
    if (name === null) return 'malformed';
    if (name === '') return 'missing';
    names.push(name);
  }
  return { names, slash };
}

/** The decoded name; null if it is malformed, and empty if there can't be a file with this name. */
function nameOf(segment: string): string | null {
  const decoded = segment.includes('%') ? decode(segment) : segment;
  if (decoded === null || decoded.includes('\0')) return null;
  if (decoded.includes('/') || decoded.includes('\\') || decoded === '.' || decoded === '..' || decoded.length > LONGEST_NAME) return '';
  // Characters of a request are bytes.
  const bytes = Buffer.from(decoded, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : '';
}

function decode(segment: string): string | null {
  if (/%(?![0-9A-Fa-f]{2})/.test(segment)) return null;
  return segment.replace(/%([0-9A-Fa-f]{2})/g, (_, pair: string) => String.fromCharCode(Number.parseInt(pair, 16)));
}
