import { createHash } from 'node:crypto';
import { chmodSync, closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Log } from '../../shared/runtime/log.ts';
import type { Random } from '../../shared/runtime/random.ts';
import { accepted, type Parsed, refused } from '../../shared/values/parsed.ts';
import { FRESH } from './store/private-file.ts';

/** Bytes of the secret of hashes, and of the keys of tickets (a name, one to sign and one to seal). */
const VISITORS_BYTES = 16;
const TICKETS_BYTES = 48;
/** A ticket that is older resumes nothing: whoever gets hold of the keys can read the sessions of one day (RFC 8446 8.1). */
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
type Saved = z.output<typeof savedSchema>;
type Complete = { readonly visitors: string; readonly tickets: Tickets };
type KeyringRuntime = { readonly random: Random; readonly log: Log };

/** Secrets of this installation: the same in all workers, and after every restart. */
export class Keyring {
  private readonly path: string;
  private readonly runtime: KeyringRuntime;
  private saved: Complete;

  /**
   * The key ring in `stateDir`, made when there is none; `now` in milliseconds since 1970. A file that can't be
   * understood is set aside under another name and made anew; one that can't be written leaves secrets that last as
   * long as the process.
   * @throws when the file is there and can't be read: new secrets would hide it for good.
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

  /** A name of this state directory, the same over restarts, that tells nothing else. */
  get instance(): string {
    return createHash('sha256').update('instance').update(this.visitors).digest('hex').slice(0, 16);
  }

  /** Keys the hashes of visitors' addresses. */
  get visitors(): Uint8Array {
    return Buffer.from(this.saved.visitors, 'hex');
  }

  /** What session tickets are sealed with. */
  get tickets(): Uint8Array {
    return Buffer.from(this.saved.tickets.keys, 'hex');
  }

  /** Makes new keys for tickets once the ones in use are a day old. @returns whether it did. */
  renewTickets(now: number): boolean {
    const age = now - this.saved.tickets.since;
    // A clock that was set back must not keep keys for years.
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
      // One that a killed start left behind would keep its mode and its text.
      rmSync(temporary, { force: true });
      writeDurably(temporary, `${JSON.stringify(this.saved)}\n`);
      renameSync(temporary, path);
      syncDirectory(path);
    } catch (error) {
      rmSync(temporary, { force: true });
      this.runtime.log.error({ path, err: error }, 'the key ring cannot be saved: its secrets last until the next restart');
    }
  }
}

function readSaved(path: string, { random, log }: KeyringRuntime): Saved | undefined {
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

function writeDurably(path: string, text: string): void {
  const file = openSync(path, FRESH, 0o600);
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
