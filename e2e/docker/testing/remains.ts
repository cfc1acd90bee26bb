import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../../shared/runtime/testing/until.ts';

const CGROUPS = '/sys/fs/cgroup';

/**
 * Ends the processes that a killed engine left running: the shims that hold its containers, recognized by its folder in their command line,
 * and each container's first process, with which the rest of the container ends; then their groups and mounts. Requesting this from the
 * engine itself takes a quarter of a second per container.
 */
export async function endRemains(folder: string, cgroup: string): Promise<void> {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const shims = all.filter((pid) => read(pid, 'cmdline').includes(`${folder}/`) && read(pid, 'cmdline').includes('containerd-shim'));
  const held = all.filter((pid) => shims.includes(parentOf(pid)));
  for (const pid of [...shims, ...held]) kill(Number(pid));
  const roots = [CGROUPS, ...readdirSync(CGROUPS).map((name) => join(CGROUPS, name))].map((root) => join(root, cgroup));
  // With version 1 cgroups, a paused container does not even end when it is killed.
  for (const root of roots) thaw(root);
  for (const root of roots.filter((path) => existsSync(path))) await until(`${root} to be empty`, () => removeGroups(root));
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '');
  for (const mount of mounts.reverse()) if (mount.startsWith(`${folder}/`)) spawnSync('umount', ['--lazy', mount]);
}

/** The field before the state and parent is the program's name, which may contain anything and ends with the last bracket. */
const parentOf = (pid: string): string =>
  read(pid, 'stat')
    .replace(/^.*\) \S+ /s, '')
    .split(' ')[0] ?? '';

/** Empty for a process that has ended in the meantime. */
function read(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return '';
    throw error;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function thaw(root: string): void {
  if (!existsSync(join(root, 'freezer.state'))) return;
  for (const entry of readdirSync(root, { withFileTypes: true })) if (entry.isDirectory()) thaw(join(root, entry.name));
  writeFileSync(join(root, 'freezer.state'), 'THAWED');
}

/** @returns true if the group is gone; while its processes are ending, it is busy. */
function removeGroups(root: string): boolean {
  for (const entry of readdirSync(root, { withFileTypes: true })) if (entry.isDirectory()) removeGroups(join(root, entry.name));
  rmdirSync(root);
  return true;
}
