import { readFileSync } from 'node:fs';
import { TICKS } from '../processes.ts';

/** How a core has spent its time since the start of the system, in seconds. */
export type CoreTime = { readonly busy: number; readonly idle: number };

/** The total time of some cores (proc_stat(5)). Time that the hypervisor gave to other guests counts as busy. */
export function coreTime(cores: readonly number[]): CoreTime {
  const stat = readFileSync('/proc/stat', 'utf8');
  let [busy, idle] = [0, 0];
  for (const core of cores) {
    const line = new RegExp(`^cpu${core} (.*)$`, 'm').exec(stat);
    if (line?.[1] === undefined) throw new Error(`/proc/stat has no core ${core}`);
    const [user = 0, nice = 0, system = 0, unused = 0, waiting = 0, irq = 0, softirq = 0, steal = 0] = line[1].split(' ').map(Number);
    busy += (user + nice + system + irq + softirq + steal) / TICKS;
    idle += (unused + waiting) / TICKS;
  }
  return { busy, idle };
}
