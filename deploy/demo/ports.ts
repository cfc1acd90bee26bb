import { request } from 'node:http';
import { createServer } from 'node:net';
import { portHolder } from '../../shared/runtime/process/port-holder.ts';

/** One port of the demo: its default number and its purpose. */
export type PortUse = { readonly name: string; readonly usual: number; readonly what: string };

/** How many numbers above the default are tried. */
const MAX_TRIED = 200;

export type Chosen = {
  readonly ports: ReadonlyMap<string, number>;
  /** Ports that differ from their default, one line each. */
  readonly moved: readonly string[];
};

/** An explicitly set port is in use by another program. */
export class PortTakenError extends Error {}

/**
 * Chooses a port for each use: the explicitly set one, or the default, or the next free one.
 * @throws PortTakenError if an explicitly set port is in use, since a different one must not be guessed.
 */
export async function choosePorts(uses: readonly PortUse[], requested: ReadonlyMap<string, number>): Promise<Chosen> {
  const ports = new Map<string, number>();
  const moved: string[] = [];
  const isReserved = (port: number) => [...ports.values(), ...requested.values()].includes(port);
  for (const { name, usual, what } of uses) {
    const explicit = requested.get(name);
    if (explicit !== undefined && (await isTaken(explicit)))
      throw new PortTakenError(
        `Port ${explicit} (${what}) is in use by ${portHolder(explicit) ?? 'another program'}: set a different port, or stop that program and start again.`,
      );
    const port = explicit ?? (await firstFree(usual, isReserved));
    if (explicit === undefined && port !== usual) moved.push(`Port ${usual} is in use by another program: ${what} is on ${port}.`);
    ports.set(name, port);
  }
  return { ports, moved };
}

async function firstFree(usual: number, isReserved: (port: number) => boolean): Promise<number> {
  for (let port = usual; port < usual + MAX_TRIED; port++) if (!isReserved(port) && !(await isTaken(port))) return port;
  throw new PortTakenError(`No port from ${usual} to ${usual + MAX_TRIED - 1} is free.`);
}

/** Whether the loopback port is in use. */
export function isTaken(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(true));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(false)));
  });
}

/** The status of a GET for a host on a loopback port; 0 if there is no response. */
export function statusOf(port: number, host: string, path: string): Promise<number> {
  return new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port, path, headers: { host }, agent: false, timeout: 2_000 }, (response) => {
      response.resume();
      response.once('close', () => resolve(response.statusCode ?? 0));
    });
    sent.once('timeout', () => sent.destroy());
    sent.once('error', () => resolve(0));
    sent.end();
  });
}
