import { readFileSync } from 'node:fs';

/** Used if the system does not report a limit of open files. */
const DEFAULT_LIMIT = 1_024;
/** Descriptors reserved for the process itself (Admin API, table, logs), and for each worker's event loop and listener. */
const RESERVED = 64;
const RESERVED_PER_WORKER = 16;
/** Lower bound, however low the limit is. */
const MIN_SOCKETS = 16;

/**
 * How many sockets clients and upstreams may use together, leaving enough descriptors for everything else. `otherPorts`: how many ports
 * each worker listens on besides the main ones.
 */
export function maxSocketsFor(workers: number, otherPorts = 0): number {
  return Math.max(MIN_SOCKETS, openFilesLimit() - RESERVED - (RESERVED_PER_WORKER + otherPorts) * workers);
}

/** The limit of open files (RLIMIT_NOFILE). Node has already raised the soft limit to the hard limit. */
function openFilesLimit(): number {
  limit ??= readLimit();
  return limit;
}
let limit: number | undefined;

function readLimit(): number {
  let text: string;
  try {
    text = readFileSync('/proc/self/limits', 'latin1');
  } catch {
    // Not Linux: a limit that every current system allows.
    return DEFAULT_LIMIT;
  }
  return parseOpenFilesLimit(text);
}

/** Parses the soft limit from the text of `/proc/self/limits`. */
export function parseOpenFilesLimit(text: string): number {
  const found = /^Max open files\s+(\d+)/m.exec(text);
  return found === null ? DEFAULT_LIMIT : Number(found[1]);
}
