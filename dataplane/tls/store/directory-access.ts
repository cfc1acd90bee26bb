import { mkdtempSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../../shared/runtime/error-code.ts';
import { makePrivateFolder } from './private-file.ts';

/** Creates the directory if it is missing, and checks that it can be listed. @throws the system's error. */
export function makeReadable(path: string): void {
  makePrivateFolder(path);
  readdirSync(path);
}

/** Creates the directory if it is missing, and checks that it is writable. @throws the system's error. */
export function makeWritable(path: string): void {
  makePrivateFolder(path);
  // access(2) checks the real user instead of the effective one, so try to create something.
  rmdirSync(mkdtempSync(join(path, '.writable-')));
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EIO: 'the disk fails',
  ENODEV: 'its file system is no longer mounted',
  ENOTDIR: 'a part of the path is not a directory',
  EEXIST: 'it is not a directory',
  ENOENT: 'no directory can be created there',
};

/** A readable message for a file system error. */
export const describeFileError = (error: unknown): string =>
  REASONS[codeOf(error)] ?? (error instanceof Error ? error.message : String(error));
