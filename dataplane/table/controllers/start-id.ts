import { readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { bootId } from './confirmation.ts';

/** The PID namespace in which Linux starts (PROC_PID_INIT_INO): a process in it is not in a container, as far as that matters here. */
const FIRST_NAMESPACE = 'pid:[4026531836]';
/** The start of a process (ticks since the boot) among the fields after its name; see proc_pid_stat(5). */
const START_TIME = 19;

/** Where the kernel says it, and the environment. */
type Sources = { readonly proc?: string; readonly env?: Readonly<Record<string, string | undefined>> };

/**
 * Identifies this start of the machine, and in a container also of that: an engine that restarts starts all its containers again, with
 * addresses of each other, so those from before mean nothing now. null if the start of the machine is unknown.
 */
export function startId({ proc = '/proc', env = process.env }: Sources = {}): string | null {
  const boot = bootId(join(proc, 'sys/kernel/random/boot_id'));
  // A pod keeps its address when its containers restart, and so do the others.
  const container = env.KUBERNETES_SERVICE_HOST === undefined ? startOfContainer(proc) : null;
  return boot === null || container === null ? boot : `${boot} ${container}`;
}

/** When the first process of this container started; null outside one, or if that can't be read. */
function startOfContainer(proc: string): string | null {
  try {
    if (readlinkSync(join(proc, 'self/ns/pid')) === FIRST_NAMESPACE) return null;
    const stat = readFileSync(join(proc, '1/stat'), 'latin1');
    // The name, in brackets, may contain anything.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[START_TIME] ?? null;
  } catch {
    return null;
  }
}
