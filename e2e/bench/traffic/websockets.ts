import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Program } from '../../testing/process.ts';
import { onCores } from '../contenders/contender.ts';
import { withCompetitors } from '../contest/competitors.ts';
import type { Contest } from '../contest/contest.ts';
import { judged } from '../contest/goals.ts';
import { PROXY_CORE, UPSTREAM_CORE } from '../contest/placement.ts';
import { rounds, type Timing } from '../contest/rounds.ts';
import type { LoadOptions, Measured } from '../load/load.ts';

const UPSTREAM = fileURLToPath(new URL('../load/websocket-upstream.ts', import.meta.url));
const CLIENTS = fileURLToPath(new URL('../load/websocket-clients.ts', import.meta.url));

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

async function load(port: number, { core, seconds, connections = 64 }: LoadOptions): Promise<Measured> {
  const program = new Program(...onCores([core], process.execPath, CLIENTS, `${port}`, `${connections}`, `${seconds}`));
  await program.exited;
  const measured = JSON.parse(program.stdout || 'null') as { answers: number; seconds: number } | null;
  if (measured === null) throw new Error(`the clients did not measure:\n${program.output}`);
  return { perSecond: measured.answers / measured.seconds, requests: measured.answers, latency: null };
}
