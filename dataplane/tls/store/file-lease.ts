import { linkSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { codeOf } from '../../../shared/runtime/error-code.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import type { Lease } from './cert-store.ts';
import { discard, makePrivateFolder, writeFresh } from './private-file.ts';

/** The holder of a lock; `instance` is stable over restarts. */
export type Holder = { readonly instance: string; readonly pid: number };

/** `until` in milliseconds since 1970. */
const lockSchema = z.object({
  owner: z.string(),
  until: z.number(),
  holder: z.object({ instance: z.string(), pid: z.int().min(1) }).optional(),
});

/** `alive` checks whether a process on this machine exists. */
type LeaseRuntime = {
  readonly clock: Clock;
  readonly random: Random;
  readonly holder?: Holder;
  readonly alive?: (pid: number) => boolean;
};

/**
 * Acquires the lock `name` in `folder` for `ttlMs`, unless it is held. Each acquisition creates a file with the next number, and the
 * highest number is the lock. The same number can't be created twice and the highest is never deleted, so when two processes find an
 * expired lock, only one gets it. The clocks of machines that share the folder must differ by far less than `ttlMs`. A lock of an earlier
 * process of the same instance that no longer exists is free immediately, so a crash does not delay the next process. So is one until much
 * later than `ttlMs` from now: the time of day was set back.
 */
export async function acquireLease(folder: string, name: string, ttlMs: number, runtime: LeaseRuntime): Promise<Lease | null> {
  makePrivateFolder(folder);
  const newest = newestOf(folder, name);
  if (newest > 0 && isHeld(join(folder, `${name}.${newest}`), { ...runtime, longestMs: 2 * ttlMs })) return null;
  const mine = newest + 1;
  const path = join(folder, `${name}.${mine}`);
  const owner = runtime.random.hex(8);
  // Not synced: a lock file truncated by a power cut counts as free.
  const write = (until: number): string => {
    const written = `${path}-${owner}`;
    writeFresh(written, `${JSON.stringify({ owner, until, holder: runtime.holder })}\n`, 0o600);
    return written;
  };
  if (!linked(write(runtime.clock.now() + ttlMs), path)) return null;
  // If other processes acquired and released it in the meantime, our number may not be the highest.
  if (newestOf(folder, name) > mine) {
    rmSync(path, { force: true });
    return null;
  }
  for (const older of numbersOf(folder, name).filter((number) => number < mine)) rmSync(join(folder, `${name}.${older}`), { force: true });
  const rewrite = (until: number): boolean => {
    if (newestOf(folder, name) !== mine || !isHeld(path, { clock: runtime.clock })) return false;
    renameSync(write(until), path);
    return newestOf(folder, name) === mine;
  };
  return {
    renew: async () => rewrite(runtime.clock.now() + ttlMs),
    release: async () => void rewrite(0),
  };
}

/** Gives a file another name, which is atomic, unlike creating and writing it. @returns false if the name is taken. */
function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    discard(from);
  }
}

function numbersOf(folder: string, name: string): number[] {
  return readdirSync(folder)
    .filter((file) => file.startsWith(`${name}.`))
    .map((file) => file.slice(name.length + 1))
    .filter((rest) => /^\d+$/.test(rest))
    .map(Number);
}

const newestOf = (folder: string, name: string): number => Math.max(0, ...numbersOf(folder, name));

/** A malformed lock was truncated by a crash and a missing one was released: both are free. */
function isHeld(
  path: string,
  { clock, longestMs = Infinity, holder: taker, alive = isAlive }: Omit<LeaseRuntime, 'random'> & { readonly longestMs?: number },
): boolean {
  try {
    const { until, holder } = lockSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
    const left = until - clock.now();
    if (left <= 0 || left > longestMs) return false;
    if (holder === undefined || holder.instance !== taker?.instance) return true;
    // In containers every process may have the same pid.
    return holder.pid !== taker.pid && alive(holder.pid);
  } catch {
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}
