import { createServer, type Server } from 'node:net';
import { basename } from 'node:path';

/** Ports below the range from which the system takes those of outgoing connections, so that nothing grabs one in between. */
const [FIRST, LAST] = [11_000, 32_000];
/**
 * Test files run side by side, and between a port's choice and its use lies a program's start. So each process takes
 * ports from blocks of its own: a block is its as long as it listens on the block's first port.
 */
const BLOCK = 50;
const BLOCKS = (LAST - FIRST) / BLOCK;

let block = process.pid % BLOCKS;
let next = 0;
let end = 0;

/** A port of 127.0.0.1 that nothing listens on, and that no other process of the tests is given meanwhile. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 200; tries++) {
    while (next === end) await claim();
    const port = next++;
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port between ${FIRST} and ${LAST}`);
}

async function claim(): Promise<void> {
  for (let tries = 0; tries < BLOCKS; tries++) {
    block = (block + 1) % BLOCKS;
    const first = FIRST + block * BLOCK;
    const server = await listening(first);
    if (server === undefined) continue;
    // Never closed: it goes with the process, which it does not keep alive.
    server.unref();
    [next, end] = [first + 1, first + BLOCK];
    return;
  }
  throw new Error(`no free block of ports between ${FIRST} and ${LAST}`);
}

/** Follows "the address is already in use" if a port is used by a process, where the system tells. */
export const usedBy = (pid: number | string): string =>
  process.platform === 'linux' ? ` by ${basename(process.execPath)} (process ${pid})` : '';

/** Whether nothing listens on a port of 127.0.0.1. */
export async function isFree(port: number): Promise<boolean> {
  const server = await listening(port);
  if (server === undefined) return false;
  await new Promise((resolve) => server.close(resolve));
  return true;
}

function listening(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
