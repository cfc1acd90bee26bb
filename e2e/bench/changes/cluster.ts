import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { missingAssets } from '../../kubernetes/testing/assets.ts';
import { atMost, type Figure, shown } from '../figure.ts';

const WORLD = fileURLToPath(new URL('./cluster-world.ts', import.meta.url));

/** What `cluster-world.ts` measures: seconds, and MiB. */
export type ClusterTimes = {
  readonly created: number;
  readonly served: number;
  readonly reported: number;
  readonly cold: number;
  readonly change: number;
  readonly controller: number;
};

/** A real API server with many objects. Skipped if none is installed. */
export async function cluster(): Promise<Figure[]> {
  const missing = missingAssets();
  if (missing !== undefined) {
    process.stderr.write(`cluster is skipped: it ${missing}\n`);
    return [];
  }
  const { stdout } = await promisify(execFile)(process.execPath, [WORLD], { maxBuffer: 1 << 24 });
  const times = JSON.parse(stdout.trim().split('\n').at(-1) ?? '{}') as ClusterTimes;
  return [
    shown('creating 1,000 Ingresses', times.created, 's'),
    atMost('1,000 new Ingresses served, from the first one on', times.served, 's', 5),
    shown('all of them report their address', times.reported, 's'),
    atMost('5,000 Ingresses and 20,000 endpoints served, from cold', times.cold, 's', 8),
    atMost('resident memory of the controller after that, at most', times.controller, 'MiB', 400),
    atMost('a changed endpoint among them (median of 9)', times.change, 's', 1),
  ];
}
