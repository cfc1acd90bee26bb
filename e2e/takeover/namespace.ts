import { fileURLToPath } from 'node:url';
import { Program } from '../testing/process.ts';

/** The kernel resets queued connections of a closed listener, as it does by default. The second sysctl is the range of client ports. */
const SETUP = 'ip link set lo up && sysctl -qw net.ipv4.tcp_migrate_req=0 net.ipv4.ip_local_port_range="33000 65000"';

/** A command that runs another one in a separate network namespace, after a setup in shell. */
export function inOwnNetwork(setup: string, command: readonly string[]): readonly string[] {
  const own = process.getuid?.() === 0 ? ['--net'] : ['--map-root-user', '--net'];
  return ['unshare', ...own, 'sh', '-c', `${setup} && exec "$@"`, 'sh', ...command];
}

/**
 * Runs a script of this folder in a separate network namespace, where the test can set sysctls.
 * @returns what it printed as JSON.
 * @throws with its output if it fails, or if this machine can't create a namespace.
 */
export async function inNamespace<T>(script: string, args: readonly string[]): Promise<T> {
  const command = [process.execPath, fileURLToPath(new URL(script, import.meta.url)), ...args];
  const [unshare = '', ...rest] = inOwnNetwork(SETUP, command);
  await using program = new Program(unshare, rest);
  const { code, signal } = await program.exited;
  if (code === 0) return JSON.parse(program.stdout) as T;
  throw new Error(
    `${script} ended with ${signal ?? code}; it needs unshare, ip, sysctl, Linux 5.14 and the right to make a network namespace:\n${program.stderr}`,
  );
}
