import { Session } from 'node:inspector/promises';
import { getHeapStatistics } from 'node:v8';
import { ProxyFixture } from '../../../dataplane/traffic/testing/proxy/test-proxy.ts';
import { TRAFFIC_FLAGS } from '../../../dataplane/v8-flags.ts';
import { setV8Flags } from '../../../shared/runtime/v8-flags.ts';
import { Folder } from '../../testing/dataplane.ts';
import { HOST } from '../contenders/contender.ts';
import { nginxUpstream } from '../contenders/nginx.ts';
import { LOAD_CORE, UPSTREAM_CORE } from '../contest/placement.ts';
import { atMost, type Figure, shown } from '../figure.ts';
import { wrk } from '../load/wrk.ts';

/** How many allocation sites are listed. */
const SITES = 12;
/** Bytes between two samples of the heap profiler. */
const SAMPLING = 4_096;

type Node = { callFrame: { functionName: string; url: string; lineNumber: number }; selfSize: number; children: Node[] };

/** Bytes that the request path allocates per request, and where, measured with a traffic worker in this thread. */
export async function allocations(): Promise<Figure[]> {
  // Objects of inlined functions are often not allocated.
  setV8Flags(TRAFFIC_FLAGS);
  using folder = new Folder();
  const upstream = await nginxUpstream(folder, UPSTREAM_CORE);
  using proxy = await ProxyFixture.start([{ domain: HOST, upstream: `127.0.0.1:${upstream.port}`, tls: false }]);
  const load = () => wrk(proxy.port, { core: LOAD_CORE, seconds: 3 });
  try {
    await load();
    const before = getHeapStatistics().total_allocated_bytes;
    const { requests } = await load();
    const total = getHeapStatistics().total_allocated_bytes - before;
    return [atMost('all of it, per request', total / requests, 'B', 1_600), ...(await sites(load))];
  } finally {
    await upstream.stop();
  }
}

/** The sites that allocate most, according to the sampling profiler. */
async function sites(load: () => Promise<{ requests: number }>): Promise<Figure[]> {
  const session = new Session();
  session.connect();
  await session.post('HeapProfiler.startSampling', {
    samplingInterval: SAMPLING,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  const { requests } = await load();
  const { profile } = await session.post('HeapProfiler.stopSampling');
  session.disconnect();
  const sizes = new Map<string, number>();
  add(profile.head as Node, sizes);
  return [...sizes]
    .sort(([, a], [, b]) => b - a)
    .slice(0, SITES)
    .map(([site, bytes]) => shown(site, bytes / requests, 'B'));
}

function add({ callFrame, selfSize, children }: Node, sizes: Map<string, number>): void {
  const file = callFrame.url.split('/').slice(-2).join('/');
  const site = `${callFrame.functionName || '(anonymous)'} ${file}:${callFrame.lineNumber + 1}`;
  sizes.set(site, (sizes.get(site) ?? 0) + selfSize);
  for (const child of children) add(child, sizes);
}
