import { Program } from '../../testing/process.ts';
import { onCores } from '../contenders/contender.ts';
import type { Measured, Tool } from './load.ts';

/** A program of ours in this folder that loads a port. It prints what it has measured. */
export const clients =
  (file: string): Tool =>
  async (port, { core, seconds, connections = 64 }): Promise<Measured> => {
    const path = new URL(file, import.meta.url).pathname;
    const program = new Program(...onCores([core], process.execPath, path, `${port}`, `${connections}`, `${seconds}`));
    await program.exited;
    const measured = JSON.parse(program.stdout || 'null') as { requests: number; seconds: number } | null;
    if (measured === null) throw new Error(`the clients did not measure:\n${program.output}`);
    return { perSecond: measured.requests / measured.seconds, requests: measured.requests, latency: null };
  };
