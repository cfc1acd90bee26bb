import { systemClock } from '../../../shared/runtime/clock.ts';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { restore } from '../disk/restore.ts';
import { LiveTable } from '../live-table.ts';
import { frameOf, routeOf, ServedRoutes } from './temporary-table.ts';

/** A process that saves one version of five routes after another, and prints each acknowledged one, until it is killed. */
const [folder = '', first = '1', count = '1000000'] = process.argv.slice(2);
const restored = await restore(folder, systemClock, memoryLog());
const table = new LiveTable({ restored, publisher: new ServedRoutes(), clock: systemClock, random: systemRandom });
process.stdout.write('open\n');
for (let version = Number(first); version < Number(first) + Number(count); version++) {
  const routes = Array.from({ length: 5 }, (_, at) => routeOf(`site-${at}.test`, `up:${(version % 60_000) + 1}`, { source: 'file' }));
  await table.apply(frameOf({ epoch: version }, routes));
  process.stdout.write(`${(version % 60_000) + 1}\n`);
}
