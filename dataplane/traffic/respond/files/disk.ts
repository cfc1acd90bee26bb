import fs from 'node:fs';
import { DISK_OPERATIONS_PER_WORKER } from '../../../../shared/limits.ts';

/** The pool also resolves names and compares passwords. It has more threads than these, so a disk that hangs never occupies them all. */
let free = DISK_OPERATIONS_PER_WORKER;
const waiting: (() => void)[] = [];

type Done<T> = (error: NodeJS.ErrnoException | null, value?: T) => void;

/** Runs one operation of the thread pool, once there is room for it. */
export function onDisk<T>(operation: (done: Done<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const start = () =>
      operation((error, value) => {
        const next = waiting.shift();
        if (next === undefined) free++;
        else next();
        if (error) reject(error);
        else resolve(value as T);
      });
    if (free === 0) waiting.push(start);
    else {
      free--;
      start();
    }
  });
}

/** Closes a descriptor of a file that was only read. Nothing depends on the result. */
export const closeLater = (fd: number): void => fs.close(fd, () => undefined);

export const readAt = (fd: number, buffer: Buffer, length: number, position: number): Promise<number> =>
  onDisk((done) => fs.read(fd, buffer, 0, length, position, done));
