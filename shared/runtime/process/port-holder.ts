import { closeSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import { basename } from 'node:path';

/** Enough for more than a thousand listening sockets, which Linux lists before all others (bytes). */
const MAX_LISTED = 256 * 1_024;
/** So many descriptors of processes are looked at, which takes well below 0.1 s. */
const MAX_DESCRIPTORS = 20_000;
/** TCP_LISTEN in `/proc/net/tcp`. */
const LISTENING = '0A';

type Socket = { readonly inode: string; readonly user: string; readonly isListening: boolean };

/** Says that a port can't be had, and by whom it is used if that is known. */
export function inUse(port: number): string {
  const holder = portHolder(port);
  return `the address is already in use${holder === null ? '' : ` by ${holder}`}`;
}

/**
 * Who uses a TCP port of this machine: `nginx (process 812)`. Only Linux tells, and which process it is only to its own user and to root.
 * `proc` is where that file system is mounted. @returns null if nothing is known.
 */
export function portHolder(port: number, proc = '/proc'): string | null {
  const all = [...socketsOn(port, `${proc}/net/tcp`), ...socketsOn(port, `${proc}/net/tcp6`)];
  const listening = all.filter(({ isListening }) => isListening);
  // A connection to elsewhere also keeps its port from others.
  const sockets = listening.length > 0 ? listening : all;
  const [first] = sockets;
  if (first === undefined) return null;
  const holders = processesWith(new Set(sockets.map(({ inode }) => `socket:[${inode}]`)), proc);
  if (holders.length > 0) return holders.join(' or ');
  return `a process with the user ID ${first.user} (as root, "ss -ltnp" shows which)`;
}

/** The sockets with this local port; none if the file can't be read. */
function socketsOn(port: number, path: string): Socket[] {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  return readStart(path)
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = '']) => local.endsWith(`:${wanted}`))
    .map(([, , , state, , , , user = '', , inode = '0']) => ({ inode, user, isListening: state === LISTENING }))
    .filter(({ inode }) => inode !== '0');
}

function readStart(path: string): string {
  const bytes = Buffer.alloc(MAX_LISTED);
  let length = 0;
  try {
    const file = openSync(path, 'r');
    try {
      for (let read = -1; read !== 0 && length < bytes.length; length += read)
        read = readSync(file, bytes, length, bytes.length - length, null);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (!isOfSystem(error)) throw error;
  }
  return bytes.toString('latin1', 0, length);
}

/** For each of these sockets the first process that has it open, as `nginx (process 812)`, as far as this process may see it. */
function processesWith(wanted: Set<string>, proc: string): string[] {
  const holders = new Set<string>();
  let left = MAX_DESCRIPTORS;
  const ids = list(proc).filter((name) => /^\d+$/.test(name));
  for (const id of ids.toSorted((a, b) => Number(a) - Number(b))) {
    for (const descriptor of list(`${proc}/${id}/fd`)) {
      if (wanted.size === 0 || left-- <= 0) return [...holders];
      const target = linkOf(`${proc}/${id}/fd/${descriptor}`);
      if (target !== null && wanted.delete(target)) holders.add(`${programOf(id, proc)} (process ${id})`);
    }
  }
  return [...holders];
}

/** The name of its program's file: the name of the process itself is that of its first thread, such as `node-MainThread`. */
const programOf = (id: string, proc: string): string => basename(linkOf(`${proc}/${id}/exe`) ?? 'a program').replace(/ \(deleted\)$/, '');

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch (error) {
    if (isOfSystem(error)) return [];
    throw error;
  }
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (isOfSystem(error)) return null;
    throw error;
  }
}

/** The process or descriptor has gone, belongs to another user, or the system has no such file. */
const isOfSystem = (error: unknown): boolean => error instanceof Error && 'code' in error;
