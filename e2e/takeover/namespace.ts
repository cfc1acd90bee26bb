import { fileURLToPath } from 'node:url';
import { Program } from '../harness/process.ts';

/** The kernel's switch for what waits in the queue of a listener that is closed, and how many ports a client may take. */
const SETUP =
  'ip link set lo up && sysctl -qw net.ipv4.tcp_migrate_req="$1" net.ipv4.ip_local_port_range="33000 65000" && shift && exec "$@"';

/**
 * Runs a script of this folder in a network namespace of its own, where the kernel's settings are the test's to choose.
 * @returns what it printed as JSON.
 * @throws with what it said when it fails, or when this machine lets nobody make a namespace.
 */
export async function inNamespace<T>(script: string, args: readonly string[], { migrate }: { readonly migrate: boolean }): Promise<T> {
  const command = [process.execPath, fileURLToPath(new URL(script, import.meta.url)), ...args];
  const own = process.getuid?.() === 0 ? ['--net'] : ['--map-root-user', '--net'];
  await using program = new Program('unshare', [...own, 'sh', '-c', SETUP, 'sh', migrate ? '1' : '0', ...command]);
  const { code, signal } = await program.exited;
  if (code === 0) return JSON.parse(program.stdout) as T;
  throw new Error(
    `${script} ended with ${signal ?? code}; it needs unshare, ip, sysctl, Linux 5.14 and the right to make a network namespace:\n${program.stderr}`,
  );
}
