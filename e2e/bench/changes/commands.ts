import { Folder } from '../../testing/dataplane.ts';
import { Program, run } from '../../testing/process.ts';
import { atMost, type Figure, median } from '../figure.ts';
import { ownDataplane } from '../own-dataplane.ts';

const ROUNDS = 9;

/** How long a command that only queries the data plane takes from a cold start, and how much of that is Node's startup. */
export async function commands(): Promise<Figure[]> {
  using folder = new Folder();
  await using dataplane = await ownDataplane({ stateDir: folder.file('state') });
  await dataplane.route('a.test', '127.0.0.1:9');
  const [command, bare]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    command.push(await timed(() => run(['routes', '--admin', `unix:${folder.file('state')}/admin.sock`])));
    bare.push(await timed(() => new Program(process.execPath, ['-e', '0']).exited));
  }
  return [
    atMost('sluice routes from a cold start', median(command), 'ms', 300),
    atMost('the same against the start of Node alone', median(command) / median(bare), 'x', 5),
  ];
}

/** In milliseconds. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
