import { parseArgs } from 'node:util';
import { installForBenchmarks } from '../components.ts';
import { accessLog } from './access-log.ts';
import { allocations } from './allocations.ts';
import { analytics } from './analytics.ts';
import { applying } from './applying.ts';
import { certificateStore } from './certificate-store.ts';
import { certificates } from './certificates.ts';
import { cluster } from './cluster.ts';
import { commands } from './commands.ts';
import { connections } from './connections.ts';
import { flood } from './flood.ts';
import { memory } from './memory.ts';
import { policies } from './policies.ts';
import { posting } from './posting.ts';
import { routes } from './routes.ts';
import { serving } from './serving.ts';
import { sluicefile } from './sluicefile.ts';
import { traces } from './traces.ts';
import { cached, connecting, handshakes, http2, keepalive, large, tls } from './wire.ts';

/** npm run bench: compares speed and memory with the promised limits, with all ratios from one run on one machine. */
const BENCHMARKS = {
  keepalive,
  accessLog,
  traces,
  large,
  connecting,
  tls,
  handshakes,
  http2,
  cached,
  certificates,
  certificateStore,
  commands,
  connections,
  allocations,
  analytics,
  flood,
  policies,
  routes,
  applying,
  posting,
  serving,
  sluicefile,
  cluster,
  memory,
} as const;
type Name = keyof typeof BENCHMARKS;

const { positionals } = parseArgs({ allowPositionals: true });
const names = (positionals.length > 0 ? positionals : Object.keys(BENCHMARKS)) as Name[];
const unknown = names.find((name) => BENCHMARKS[name] === undefined);
if (unknown !== undefined) {
  process.stderr.write(`There is no benchmark "${unknown}"; there are: ${Object.keys(BENCHMARKS).join(', ')}\n`);
  process.exit(2);
}
installForBenchmarks();
let missed = 0;
for (const name of names) {
  for (const { what, figure, unit, goal, met } of await BENCHMARKS[name]()) {
    if (!met) missed++;
    process.stdout.write(
      `${name.padEnd(12)} ${what.padEnd(60)} ${figure.toFixed(figure < 10 ? 2 : 0).padStart(8)} ${unit.padEnd(6)} ${met ? 'ok    ' : 'MISSED'} (${goal})\n`,
    );
  }
}
process.exitCode = missed > 0 ? 1 : 0;
