import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Log } from '../../../../shared/runtime/log/log.ts';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import type { Purge } from '../../../../shared/wire/purge.ts';
import type { CacheEntry } from '../../../traffic/cache-messages.ts';
import { entry } from '../../testing/entry.ts';
import { type DiskFs, systemFs } from '../disk-fs.ts';
import { DiskStore } from '../disk-store.ts';
import { KeyFilter } from '../key-filter.ts';
import type { FromDisk } from '../messages.ts';

type SentMessage<K extends FromDisk['kind']> = Extract<FromDisk, { kind: K }>;

/** A directory, and the processes that keep responses there, one after the other or at the same time. */
export class Disk {
  readonly path = mkdtempSync(join(tmpdir(), 'sluice-cache-'));
  readonly clock = new ManualClock();

  /** A process that uses the directory; the system calls in `faults` replace the real ones. */
  open(faults: Partial<DiskFs> = {}, { size = 100_000_000, shared = false } = {}): DiskProcess {
    return new DiskProcess(this, { ...systemFs, ...faults }, size, shared);
  }

  /** The paths of all files of responses. */
  files(): string[] {
    const version = join(this.path, 'v1');
    return readdirSync(version, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile())
      .map((one) => join(one.parentPath, one.name))
      .sort();
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

export class DiskProcess {
  readonly sent: FromDisk[] = [];
  readonly logged: string[] = [];
  readonly store: DiskStore;
  readonly filter: KeyFilter;
  private lastPurge = 0;

  constructor({ path, clock }: Disk, fs: DiskFs, size: number, shared: boolean) {
    const memory = KeyFilter.memory();
    const at = (_: unknown, message = ''): void => void this.logged.push(message);
    const log: Log = { debug: at, info: at, warn: at, error: at, fatal: at };
    this.filter = new KeyFilter(memory);
    const start = { path, size, filter: memory, firstId: 0, shared, drainMs: 30_000 };
    this.store = new DiskStore(start, { fs, clock, log, post: (message) => this.sent.push(message) });
  }

  /** Runs pending work. */
  run(): this {
    while (this.store.turn());
    return this;
  }

  write(one: CacheEntry, replaces: number | null = null): this {
    this.store.handle({ kind: 'write', entry: one, replaces });
    return this.run();
  }

  /** The responses stored for the key of a target. */
  read(target: string, most = 10_000_000): readonly CacheEntry[] {
    const key = `http a.test ${target}`;
    this.store.handle({ kind: 'read', key, most });
    return this.run().last('read').entries;
  }

  texts(target: string): string[] {
    return this.read(target).map(textOf);
  }

  purge(purge: Purge, counted: readonly number[] = []): SentMessage<'purged'> {
    this.store.handle({ kind: 'purge', id: ++this.lastPurge, purge, counted, urgent: true });
    return this.run().last('purged');
  }

  /** The report that is sent once a second. */
  get state(): SentMessage<'state'> {
    this.run().store.tick();
    return this.last('state');
  }

  /** The last message of a kind. */
  last<K extends FromDisk['kind']>(kind: K): SentMessage<K> {
    const found = this.sent.findLast((message) => message.kind === kind);
    if (found === undefined) throw new Error(`no message ${kind}`);
    return found as SentMessage<K>;
  }

  outcomes(): string[] {
    return this.sent.flatMap((message) => (message.kind === 'settled' ? [message.outcome] : []));
  }
}

/** A response whose body, in several pieces, is this text. */
export function textEntry(target: string, text: string, more: Partial<CacheEntry> = {}): CacheEntry {
  const bytes = Buffer.from(text);
  const middle = Math.floor(bytes.length / 2);
  const pieces = [bytes.subarray(0, middle), bytes.subarray(middle)].filter(({ length }) => length > 0);
  return entry(target, {
    ...{ body: pieces.map(sharedOf), length: bytes.length, receivedAt: 1_700_000_000_000, lifetime: 3_600, fields: 'X-A: \u00e9\r\n' },
    ...more,
  });
}

function sharedOf(bytes: Buffer): SharedArrayBuffer {
  const shared = new SharedArrayBuffer(bytes.length);
  Buffer.from(shared).set(bytes);
  return shared;
}

export const textOf = ({ body }: CacheEntry): string => Buffer.concat(body.map((piece) => Buffer.from(piece))).toString();
