import { mkdtempSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { makePrivateFolder } from './private-file.ts';

/** Makes a certificate directory where it is missing, and sees that it can be listed. @throws the system's error. */
export function makeReadable(path: string): void {
  makePrivateFolder(path);
  readdirSync(path);
}

/** Makes a folder where it is missing, and sees that something can be made in it. @throws the system's error. */
export function makeWritable(path: string): void {
  makePrivateFolder(path);
  // Trying beats asking: access(2) answers for the real user, not for the effective one.
  rmdirSync(mkdtempSync(join(path, '.writable-')));
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of the path is no directory',
  EEXIST: 'it is no directory',
  ENOENT: 'no directory can be made there',
};

/** The system's error in words. */
export const describeFileError = (error: unknown): string =>
  REASONS[codeOf(error)] ?? (error instanceof Error ? error.message : String(error));

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');
