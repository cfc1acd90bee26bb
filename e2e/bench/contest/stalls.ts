import { Program } from '../../testing/process.ts';
import { onCores } from '../contenders/contender.ts';

/** How much of its time a core stops a program that never waits (0 to 1), and for how long at most, in seconds. */
export type Stalls = { readonly share: number; readonly longest: number };

/**
 * What a 99th percentile shows are the slowest hundredth of all requests. If the machine stops programs for more than a fifth of a
 * hundredth of the time, it is about the machine.
 */
const NOTICEABLE = 0.002;

/** Measures cores that are busy at the same time, as they are under load: a hypervisor stops some only then. */
export function stallsOf(cores: readonly number[], seconds = 3): Promise<Stalls[]> {
  return Promise.all([...new Set(cores)].map((core) => stallsOfOne(core, seconds)));
}

async function stallsOfOne(core: number, seconds: number): Promise<Stalls> {
  const loop = new URL('busy-loop.ts', import.meta.url).pathname;
  const program = new Program(...onCores([core], process.execPath, loop, `${seconds}`));
  await program.exited;
  const stalls = JSON.parse(program.stdout || 'null') as Stalls | null;
  if (stalls === null) throw new Error(`the loop did not measure:\n${program.output}`);
  return stalls;
}

/** A sentence about the core that stops programs most, if any does so noticeably. */
export function stallRemarks(stalls: readonly Stalls[]): string[] {
  const share = Math.max(...stalls.map((each) => each.share));
  if (share <= NOTICEABLE) return [];
  const longest = Math.max(...stalls.map((each) => each.longest));
  return [
    `The machine stops even a program that never waits, for ${(100 * share).toFixed(1)} % of the time and up to ${(1_000 * longest).toFixed(0)} ms.`,
  ];
}
