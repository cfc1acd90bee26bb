import { spawnSync } from 'node:child_process';

const MARK = 'IN_OWN_NETWORK';

/**
 * Runs this test file again in separate network and mount namespaces, so that its bridges, ports and mounts don't interfere with the
 * machine or another test. Loopback exists there, and all its ports are free. `lacking` is what the tests need and is not installed.
 * @returns undefined there, otherwise the text for `skip`. @throws if there can't be any.
 */
export function separateNetwork(lacking: string | undefined): string | undefined {
  if (lacking !== undefined) return lacking;
  if (process.env[MARK] !== undefined) {
    delete process.env[MARK];
    const { status, stderr } = spawnSync('busybox', ['ip', 'link', 'set', 'lo', 'up'], { encoding: 'utf8' });
    if (status !== 0) throw new Error(`loopback of the tests' network did not come up: ${stderr}`);
    return undefined;
  }
  const tried = spawnSync('unshare', ['--net', '--mount', 'true'], { encoding: 'utf8' });
  if (tried.status !== 0) throw new Error(`this needs root and separate namespaces, which this machine does not allow: ${tried.stderr}`);
  const argv = ['unshare', '--net', '--mount', process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  process.execve?.('/usr/bin/unshare', argv, { ...environment(), [MARK]: '1' });
  throw new Error('this Node cannot replace its own process (execve)');
}

function environment(): Record<string, string> {
  return Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}
