import { chmodSync, closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { accepted, type Parsed, refused } from '../../shared/parsed.ts';
import type { Log } from '../../shared/runtime/log.ts';
import type { Random } from '../../shared/runtime/random.ts';

/** Bytes of each secret. */
const KEY_BYTES = 16;
const FILE = 'keyring.json';

/** Secrets of this installation: the same in all workers, and after every restart. */
export type Keyring = {
  /** Keys the hashes of visitors' addresses. */
  readonly visitors: Uint8Array;
};

const secret = z.string().regex(new RegExp(`^[0-9a-f]{${2 * KEY_BYTES}}$`), `is not ${2 * KEY_BYTES} hexadecimal digits`);
const savedSchema = z.object({ visitors: secret });
type Saved = z.output<typeof savedSchema>;

/**
 * The key ring in `stateDir`, made when there is none. A file that can't be understood is set aside under
 * another name and made anew; one that can't be written leaves secrets that last as long as the process.
 * @throws when the file is there and can't be read: new secrets would hide it for good.
 */
export function openKeyring(stateDir: string, random: Random, log: Log): Keyring {
  const path = join(stateDir, FILE);
  const saved = readSaved(path, random, log) ?? make(path, random, log);
  return { visitors: Buffer.from(saved.visitors, 'hex') };
}

function readSaved(path: string, random: Random, log: Log): Saved | undefined {
  const text = readText(path);
  if (text === undefined) return undefined;
  const parsed = parseSaved(text);
  if (parsed.ok) {
    keepPrivate(path, log);
    return parsed.value;
  }
  const aside = `${path}.bad-${random.hex(4)}`;
  renameSync(path, aside);
  log.error(
    { path, aside, reason: parsed.reason },
    'the key ring is unreadable: set aside and made anew, visitors from before count again',
  );
  return undefined;
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function parseSaved(text: string): Parsed<Saved> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message quotes the text, which may be a secret.
    return refused('it is not JSON');
  }
  const result = savedSchema.safeParse(value);
  if (result.success) return accepted(result.data);
  const issue = result.error.issues[0];
  return refused(`${issue?.path.join('.') || 'it'}: ${issue?.message ?? 'is no key ring'}`);
}

/** Other users of the machine must not read secrets, whatever a copy or a restore did to the file's mode. */
function keepPrivate(path: string, log: Log): void {
  const mode = statSync(path).mode & 0o777;
  if ((mode & 0o077) === 0) return;
  chmodSync(path, 0o600);
  log.warn({ path, mode: mode.toString(8) }, 'the key ring could be read by others: made private');
}

function make(path: string, random: Random, log: Log): Saved {
  const made = { visitors: random.hex(KEY_BYTES) };
  const temporary = `${path}.new`;
  try {
    // One that a killed start left behind would keep its mode and its text.
    rmSync(temporary, { force: true });
    writeDurably(temporary, `${JSON.stringify(made)}\n`);
    renameSync(temporary, path);
    syncDirectory(path);
  } catch (error) {
    rmSync(temporary, { force: true });
    log.error({ path, err: error }, 'the key ring cannot be saved: its secrets last until the next restart');
  }
  return made;
}

function writeDurably(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** A rename is on disk when its directory is. */
function syncDirectory(path: string): void {
  const directory = openSync(join(path, '..'), 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
