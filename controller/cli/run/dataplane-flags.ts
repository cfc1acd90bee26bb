import { spawnSync } from 'node:child_process';
import { entryOf } from './processes.ts';

/** The data plane's part of the help, requested from the data plane itself: the two modules share no code. */
export function dataplaneFlagLines(): string {
  const { stdout } = spawnSync(process.execPath, [entryOf('dataplane'), '--help'], { encoding: 'utf8' });
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('  --'))
    .join('\n');
}
