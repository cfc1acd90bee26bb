import { Program } from '../../testing/process.ts';
import { onCores } from '../contenders/contender.ts';

/** When a core ran no program, in milliseconds since the epoch. */
export type Stall = readonly [from: number, to: number];

/** The stalls of a core, and the processor time that watching took, in seconds. */
export type Watched = { readonly stalls: readonly Stall[]; readonly cpu: number };

/**
 * When the machine stops a core that is busy with something else, as the hypervisors of some machines do. Null if this user may not use
 * real-time priority: without it, what keeps the core busy would be seen as a stall.
 */
export async function stallsOf(core: number, seconds: number): Promise<Watched | null> {
  const watch = new URL('stall-watch.ts', import.meta.url).pathname;
  const program = new Program(...onCores([core], 'chrt', '--fifo', '1', process.execPath, watch, `${seconds}`));
  await program.exited;
  if (/Operation not permitted/.test(program.stderr)) return null;
  if (program.stdout === '') throw new Error(`core ${core} was not watched:\n${program.output}`);
  return JSON.parse(program.stdout) as Watched;
}

/** Whether something lasted while a core stalled, or waited for what had piled up meanwhile. At half load, that takes as long again. */
export const isDelayed = (stalls: readonly Stall[], from: number, to: number): boolean =>
  stalls.some(([stall, end]) => from < end + 2 * (end - stall) && to > stall);
