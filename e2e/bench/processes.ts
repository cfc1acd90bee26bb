import { readdirSync, readFileSync } from 'node:fs';

/** A process and its descendants. */
export function familyOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
  return [pid, ...children.flatMap(familyOf)];
}

export type Cpu = { readonly user: number; readonly kernel: number };

/** Linux reports CPU time to user space in this many ticks per second (USER_HZ). */
export const TICKS = 100;

/** Total CPU time of some processes in seconds (proc_pid_stat(5): fields 14 and 15). */
export function cpuOf(pids: readonly number[]): Cpu {
  let user = 0;
  let kernel = 0;
  for (const pid of pids) {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    user += Number(fields[11]) / TICKS;
    kernel += Number(fields[12]) / TICKS;
  }
  return { user, kernel };
}

/** Resident memory of some processes in bytes. Pages that they share are counted for each. */
export function residentOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + kilobytes(readFileSync(`/proc/${pid}/status`, 'utf8'), /VmRSS:\s+(\d+) kB/), 0);
}

/** Proportional set size of some processes in bytes: pages that several processes share are divided among them. */
export function proportionalOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + kilobytes(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'), /^Pss:\s+(\d+) kB/m), 0);
}

function kilobytes(text: string, line: RegExp): number {
  return Number(line.exec(text)?.[1] ?? Number.NaN) * 1_024;
}
