import { readFileSync } from 'node:fs';

/** Where the system does not say how many files may be open. */
const DEFAULT_LIMIT = 1_024;
/** Descriptors that the process itself needs: the Admin API, the table, logs; and for each worker its event loop and listener. */
const RESERVED = 64;
const RESERVED_PER_WORKER = 16;
/** However low the limit is, some connections must be possible. */
const MIN_SOCKETS = 16;

/** How many sockets clients and upstreams may have together, so that everything else still finds a descriptor. */
export function maxSocketsFor(workers: number): number {
  return Math.max(MIN_SOCKETS, openFilesLimit() - RESERVED - RESERVED_PER_WORKER * workers);
}

/** How many files this process may open (RLIMIT_NOFILE); Node has raised the soft limit to the hard one by the time we ask. */
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
    // Not Linux: what every system of today allows.
    return DEFAULT_LIMIT;
  }
  return parseOpenFilesLimit(text);
}

/** The soft limit in the text of `/proc/self/limits`. */
export function parseOpenFilesLimit(text: string): number {
  const found = /^Max open files\s+(\d+)/m.exec(text);
  return found === null ? DEFAULT_LIMIT : Number(found[1]);
}
