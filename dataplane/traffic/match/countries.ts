import { readSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { CountryResponse, Reader } from 'maxmind';
import { isPrivateAddress } from '../../../shared/private-ranges.ts';
import { codeOf } from '../../../shared/runtime/error-code.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import type { CountryDatabase, DatabaseFile } from '../protocol.ts';

type CountryReader = Reader<CountryResponse>;

const require = createRequire(import.meta.url);
/** Loaded with the first database. */
const library = (): typeof import('maxmind') => require('maxmind');

/** Codes of errors that may be over a moment later. */
const PASSING: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN']);

/**
 * Looks up the country of an address. The databases are files of which all workers share one copy in memory, which is filled when the first
 * of them needs it: a proxy whose clients all have private addresses never does, and most others need the one for IPv4 alone.
 */
export class Countries {
  private readonly database: CountryDatabase | null;
  private readonly log: Log;
  private ipv4: CountryReader | null = null;
  private ipv6: CountryReader | null = null;
  private failed = false;
  /** Whether the last lookup failed for a reason that may be over at the next one, and whether that has been logged. */
  private lacking = false;
  private lacked = false;

  /** @param database null if there is none. */
  constructor(database: CountryDatabase | null, log: Log) {
    this.database = database;
    this.log = log;
  }

  /** Whether there is a database, as far as is known: `find` may find that its file can't be read, if only for the moment. */
  get available(): boolean {
    return this.database !== null && !this.failed && !this.lacking;
  }

  /** @returns an ISO 3166-1 alpha-2 code; empty if it is unknown. Takes about 1 µs, and 3 to 15 ms when it is the first to read a file. */
  find(address: string): string {
    this.lacking = false;
    const reader = address.includes(':') ? (this.ipv6 ?? this.open('ipv6', address)) : (this.ipv4 ?? this.open('ipv4', address));
    // DB-IP's records are `{country_code}`, not MaxMind's.
    const record = reader?.get(address) as { readonly country_code?: unknown } | null | undefined;
    return typeof record?.country_code === 'string' ? record.country_code : '';
  }

  /** null if it is not needed for this address, or can't be read. */
  private open(family: 'ipv4' | 'ipv6', address: string): CountryReader | null {
    // Private addresses have no country.
    if (this.database === null || this.failed || address === '' || isPrivateAddress(address)) return null;
    try {
      const { Reader } = library();
      this[family] = new Reader(Buffer.from(bytesOf(this.database[family])));
      return this[family];
    } catch (error) {
      this.note(error);
      return null;
    }
  }

  private note(error: unknown): void {
    const fields = { error: error instanceof Error ? error.message : String(error) };
    if (PASSING.has(codeOf(error))) {
      this.lacking = true;
      if (!this.lacked) this.log.warn(fields, 'the country database could not be read now: it is tried again for the next client');
      this.lacked = true;
      return;
    }
    this.failed = true;
    this.log.error(
      fields,
      'the country database could not be read: countries are not counted, and rules of ip_filter about countries reject every client',
    );
  }
}

/** @throws if the file can't be read. Workers may fill the memory at the same time, with the same bytes. */
function bytesOf({ descriptor, memory, filled }: DatabaseFile): SharedArrayBuffer {
  const mark = new Int32Array(filled);
  if (Atomics.load(mark, 0) === 0) {
    fill(memory, descriptor);
    Atomics.store(mark, 0, 1);
  }
  return memory;
}

function fill(memory: SharedArrayBuffer, descriptor: number): void {
  const bytes = new Uint8Array(memory);
  for (let read = 0; read < bytes.length; ) {
    const count = readSync(descriptor, bytes, read, bytes.length - read, read);
    if (count === 0) throw new Error(`its file ends after ${read} of ${bytes.length} bytes`);
    read += count;
  }
}
