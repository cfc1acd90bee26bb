import * as fs from 'node:fs';
import { codeOf } from '../../../shared/runtime/error-code.ts';

/** The system calls on the files of the cache; tests replace them with failing ones. */
export type DiskFs = Pick<
  typeof fs,
  | 'chmodSync'
  | 'closeSync'
  | 'fstatSync'
  | 'fsyncSync'
  | 'lstatSync'
  | 'mkdirSync'
  | 'openSync'
  | 'readdirSync'
  | 'readSync'
  | 'renameSync'
  | 'rmdirSync'
  | 'statfsSync'
  | 'unlinkSync'
  | 'writeSync'
>;

export const systemFs: DiskFs = fs;

/** Errors that say nothing about the file. */
const TRANSIENT = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EINTR']);
export const isTransient = (error: unknown): boolean => TRANSIENT.has(codeOf(error));
