import { usableMemory } from '../../shared/runtime/thread-memory.ts';

/** The sockets that are not left to upstreams: many client connections are idle, so a quarter is enough for those. */
const CLIENTS = 0.75;
/** Memory of the processes without connections, and of each worker (bytes). */
const RESERVED = 75_497_472;
const RESERVED_PER_WORKER = 25_165_824;
/** What a client connection takes over TLS, or with a request and the connection to its upstream (bytes; docs/performance.md). */
const PER_CONNECTION = 49_152;
/** However little memory there is. */
const LEAST = 256;

/** How many connections clients may have unless a number is set, out of `sockets`, with this much memory (bytes). */
export function defaultMaxConnections(sockets: number, workers: number, memory = usableMemory()): number {
  const forConnections = memory - RESERVED - RESERVED_PER_WORKER * workers;
  return Math.min(Math.ceil(sockets * CLIENTS), Math.max(LEAST, Math.floor(forConnections / PER_CONNECTION)));
}
