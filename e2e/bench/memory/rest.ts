import { setTimeout as pause } from 'node:timers/promises';
import { Folder } from '../../testing/dataplane.ts';
import { nginxUpstream } from '../contenders/nginx.ts';
import { withCompetitors } from '../contest/competitors.ts';
import { PROXY_CORE, UPSTREAM_CORE } from '../contest/placement.ts';
import { atMost, type Figure, shown } from '../figure.ts';
import { proportionalOf } from '../processes.ts';
import { settled } from '../settled.ts';

/** How long the proxies are idle (ms), so that garbage is collected and unneeded threads end. */
const REST_MS = 120_000;

/** The memory of all processes of a proxy that has started with one site, had one request, and then rested for two minutes. */
export async function rest(): Promise<Figure[]> {
  using folder = new Folder();
  const upstream = await nginxUpstream(folder, UPSTREAM_CORE);
  try {
    return await withCompetitors({ cores: [PROXY_CORE], upstream: upstream.port }, async (competitors) => {
      const figures: Figure[] = [];
      await pause(REST_MS);
      for (const { proxy } of competitors) {
        const memory = (await settled(() => proportionalOf(proxy.pids()))) / 1_048_576;
        const what = `proportional set size at rest, all processes: ${proxy.name}`;
        figures.push(proxy.name === 'sluice' ? atMost(what, memory, 'MiB', 110) : shown(what, memory, 'MiB'));
      }
      return figures;
    });
  } finally {
    await upstream.stop();
  }
}
