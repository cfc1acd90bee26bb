import { accepted, type Parsed, refused } from './parsed.ts';

/** Reads the number of a TCP port. */
export function readPort(text: string): Parsed<number> {
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? accepted(port) : refused('a port must be a number from 1 to 65535');
}
