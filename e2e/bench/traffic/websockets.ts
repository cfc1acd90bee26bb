import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Program } from '../../testing/process.ts';
import { onCores } from '../contenders/contender.ts';
import { withCompetitors } from '../contest/competitors.ts';
import type { Contest } from '../contest/contest.ts';
import { judged } from '../contest/goals.ts';
import { PROXY_CORE, UPSTREAM_CORE } from '../contest/placement.ts';
import { rounds, type Timing } from '../contest/rounds.ts';
import { clients } from '../load/clients.ts';

const UPSTREAM = fileURLToPath(new URL('../load/websocket-upstream.ts', import.meta.url));
const load = clients('websocket-clients.ts');

/** Messages of 64 bytes to the upstream and back over WebSockets: each passes the proxy twice. */
export async function websockets(timing: Timing): Promise<Contest[]> {
  await using upstream = new Program(...onCores([UPSTREAM_CORE], process.execPath, UPSTREAM));
  if (upstream.child.stdout === null) throw new Error('the upstream has no output');
  await once(upstream.child.stdout, 'data');
  const setup = { cores: [PROXY_CORE], upstream: Number(upstream.stdout) };
  return await withCompetitors(setup, async (competitors) => [
    judged(
      'WebSocket messages of 64 bytes and their answers, 64 connections',
      'messages',
      await rounds(competitors, timing, load, () => ({})),
      {
        nginx: 1,
      },
    ),
  ]);
}
