import { request } from 'node:http';
import { createServer } from 'node:net';

/** One port of the demonstration: which it is when nothing is in the way, and what for. */
export type Use = { readonly name: string; readonly usual: number; readonly what: string };

/** How far from its usual number a port is looked for. */
const REACH = 200;

export type Chosen = {
  readonly ports: ReadonlyMap<string, number>;
  /** What is elsewhere than usual, one line each. */
  readonly moved: readonly string[];
};

/** Somebody named a port that another program has. */
export class PortTakenError extends Error {}

/**
 * A port for each use: the one that was asked for, or its usual one, or the next that is free.
 * @throws PortTakenError for one that was asked for and is taken: nobody wants that one guessed.
 */
export async function choosePorts(uses: readonly Use[], asked: ReadonlyMap<string, number>): Promise<Chosen> {
  const ports = new Map<string, number>();
  const moved: string[] = [];
  const mine = (port: number) => [...ports.values(), ...asked.values()].includes(port);
  for (const { name, usual, what } of uses) {
    const wish = asked.get(name);
    if (wish !== undefined && (await isTaken(wish)))
      throw new PortTakenError(`Port ${wish} (${what}) is taken by another program: name another one, or end that and start again.`);
    const port = wish ?? (await firstFree(usual, mine));
    if (wish === undefined && port !== usual) moved.push(`Port ${usual} is taken by another program: ${what} is on ${port}.`);
    ports.set(name, port);
  }
  return { ports, moved };
}

async function firstFree(usual: number, mine: (port: number) => boolean): Promise<number> {
  for (let port = usual; port < usual + REACH; port++) if (!mine(port) && !(await isTaken(port))) return port;
  throw new PortTakenError(`No port from ${usual} to ${usual + REACH - 1} is free.`);
}

/** Whether something else listens on the loopback port. */
export function isTaken(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(true));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(false)));
  });
}

/** The status of a GET for a host on a loopback port; 0 when nobody answers. */
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
