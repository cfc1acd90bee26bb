import { createHash } from 'node:crypto';
import { chmodSync, closeSync, fsyncSync, openSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import type { Log } from '../../shared/runtime/log/log.ts';
import type { Random } from '../../shared/runtime/random.ts';
import { accepted, type Parsed, refused } from '../../shared/values/parsed.ts';
import { discard, FRESH, readIfPresent } from './store/private-file.ts';

/** Bytes of the visitor hash key, and of the ticket keys (key name, HMAC key, AES key). */
const VISITORS_BYTES = 16;
const TICKETS_BYTES = 48;
/** Ticket keys are rotated daily, so stolen keys expose the sessions of one day (RFC 8446 8.1). */
const TICKETS_MS = 86_400_000;
const FILE = 'keyring.json';

const secret = (bytes: number) => z.string().regex(new RegExp(`^[0-9a-f]{${2 * bytes}}$`), `is not ${2 * bytes} hexadecimal digits`);
/** `since` in milliseconds since 1970. */
const ticketsSchema = z.object({ keys: secret(TICKETS_BYTES), since: z.int().min(0) });
const savedSchema = z.object({
  visitors: secret(VISITORS_BYTES),
  /** An earlier version had none. */
  tickets: ticketsSchema.optional(),
});
type Tickets = z.output<typeof ticketsSchema>;
type SavedKeyring = z.output<typeof savedSchema>;
type Complete = { readonly visitors: string; readonly tickets: Tickets };
type KeyringRuntime = { readonly random: Random; readonly log: Log };

/** The secrets of this installation, shared by all workers and kept over restarts. */
export class Keyring {
  private readonly path: string;
  private readonly runtime: KeyringRuntime;
  private saved: Complete;

  /**
   * Reads the key ring in `stateDir`, or creates it; `now` in milliseconds since 1970. A malformed file is renamed and
   * replaced; if the file can't be written, the secrets last as long as the process.
   * @throws when the file exists but can't be read: new secrets would overwrite it.
   */
  constructor(stateDir: string, now: number, runtime: KeyringRuntime) {
    this.path = join(stateDir, FILE);
    this.runtime = runtime;
    const found = readSaved(this.path, runtime);
    const { visitors = runtime.random.hex(VISITORS_BYTES), tickets = this.newTickets(now) } = found ?? {};
    this.saved = { visitors, tickets };
    if (found?.tickets === undefined) this.save();
    this.renewTickets(now);
  }

  /** A stable identifier of this state directory that reveals nothing else. */
  get instance(): string {
    return createHash('sha256').update('instance').update(this.visitors).digest('hex').slice(0, 16);
  }

  /** Keys the hashes of visitors' addresses. */
  get visitors(): Uint8Array {
    return Buffer.from(this.saved.visitors, 'hex');
  }

  /** Encrypts session tickets. */
  get tickets(): Uint8Array {
    return Buffer.from(this.saved.tickets.keys, 'hex');
  }

  /** Rotates the ticket keys once they are a day old. @returns whether it did. */
  renewTickets(now: number): boolean {
    const age = now - this.saved.tickets.since;
    // A clock that was set back must not keep the keys for years.
    if (age >= 0 && age < TICKETS_MS) return false;
    this.saved = { ...this.saved, tickets: this.newTickets(now) };
    this.save();
    return true;
  }

  private newTickets(since: number): Tickets {
    return { keys: this.runtime.random.hex(TICKETS_BYTES), since };
  }

  private save(): void {
    const { path } = this;
    const temporary = `${path}.new`;
    try {
      // A leftover of a killed process would keep its mode and content.
      rmSync(temporary, { force: true });
      writeDurably(temporary, `${JSON.stringify(this.saved)}\n`);
      renameSync(temporary, path);
      syncDirectory(path);
    } catch (error) {
      discard(temporary);
      this.runtime.log.error({ path, err: error }, 'the key ring cannot be saved: its secrets will change at the next restart');
    }
  }
}

function readSaved(path: string, { random, log }: KeyringRuntime): SavedKeyring | undefined {
  const text = readIfPresent(path);
  if (text === null) return undefined;
  const parsed = parseSaved(text);
  if (parsed.ok) {
    keepPrivate(path, log);
    return parsed.value;
  }
  const aside = `${path}.bad-${random.hex(4)}`;
  renameSync(path, aside);
  log.error(
    { path, aside, reason: parsed.reason },
    'the key ring is unreadable: it was renamed and replaced, so returning visitors are counted again',
  );
  return undefined;
}

function parseSaved(text: string): Parsed<SavedKeyring> {
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
  return refused(`${issue?.path.join('.') || 'it'}: ${issue?.message ?? 'is not a key ring'}`);
}

/** Restores mode 0600 in case a copy or a backup changed it: other users must not read the secrets. */
function keepPrivate(path: string, log: Log): void {
  const mode = statSync(path).mode & 0o777;
  if ((mode & 0o077) === 0) return;
  try {
    chmodSync(path, 0o600);
    log.warn({ path, mode: mode.toString(8) }, 'the key ring was readable by other users: its mode is now 0600');
  } catch (error) {
    log.error({ path, mode: mode.toString(8), err: error }, 'the key ring is readable by other users, and its mode cannot be changed');
  }
}

function writeDurably(path: string, text: string): void {
  const file = openSync(path, FRESH, 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** A rename is durable once its directory is synced. */
function syncDirectory(path: string): void {
  const directory = openSync(join(path, '..'), 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
