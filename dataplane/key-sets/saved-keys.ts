import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import * as z from 'zod';
import { faultOfKey, faultOfKeys, type JwtKey, MAX_KEYS } from '../../shared/policy/jwt/keys.ts';
import { codeOf } from '../../shared/runtime/error-code.ts';
import type { Log } from '../../shared/runtime/log/log.ts';

/** The keys of a set when they were fetched (ms since 1970), and for how long they are fresh (ms). */
export type SavedKeys = { readonly keys: readonly JwtKey[]; readonly fetchedAt: number; readonly freshMs: number };

const file = z.record(
  z.string(),
  z.object({
    keys: z
      .array(z.object({ pem: z.string(), kid: z.string().optional(), alg: z.string().optional() }))
      .min(1)
      .max(MAX_KEYS)
      .refine((keys) => faultOfKeys(keys) === undefined && keys.every((key) => faultOfKey(key) === undefined)),
    fetchedAt: z.number(),
    freshMs: z.number(),
  }),
);

/** Reads the saved keys. Keys that can't be read are fetched again. */
export function readSaved(path: string, log: Log): Map<string, SavedKeys> {
  try {
    return new Map(Object.entries(file.parse(JSON.parse(readFileSync(path, 'utf8')))));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return new Map();
    log.warn(
      { path, error: error instanceof Error ? error.name : String(error) },
      'the saved keys of tokens cannot be read, so they are fetched',
    );
    return new Map();
  }
}

/** Replaces the file. */
export async function writeSaved(path: string, saved: ReadonlyMap<string, SavedKeys>, log: Log): Promise<void> {
  try {
    await writeFile(`${path}.new`, JSON.stringify(Object.fromEntries(saved)), { mode: 0o600, flush: true });
    await rename(`${path}.new`, path);
  } catch (error) {
    log.warn({ path, error: String(error) }, 'the keys of tokens cannot be saved; after a restart they have to be fetched first');
  }
}
