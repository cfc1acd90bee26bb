import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { readAppliedRoute } from '../../../../shared/route.ts';
import { type Clock, systemClock } from '../../../../shared/runtime/clock.ts';
import { systemRandom } from '../../../../shared/runtime/random.ts';
import { memoryLog } from '../../../../shared/runtime/testing/memory-log.ts';
import type { Snapshot, Source } from '../../source.ts';
import type { Container } from '../engine/container.ts';
import type { EngineSnapshot, Translation } from '../routes/engine-snapshot.ts';
import { createDockerSource } from '../source.ts';
import { FakeEngine } from './fake-engine.ts';

/** Longest wait for anything that a test expects (ms). */
const PATIENCE_MS = 60_000;

/** The user of a fixture: a test, or a benchmark. */
type User = { after(cleanup: () => Promise<void>): void };

/** A fake engine and the source on it; nothing runs yet. */
export function withEngine(t: User, clock: Clock = systemClock, translate: (snapshot: EngineSnapshot) => Translation = simply) {
  const directory = mkdtempSync(join(tmpdir(), 'docker-'));
  const path = join(directory, 'docker.sock');
  const engine = new FakeEngine();
  const log = memoryLog();
  const source = createDockerSource({
    settings: { engine: { kind: 'unix', path }, addresses: 'auto', network: null, elsewhere: false },
    translate,
    clock,
    random: systemRandom,
    log,
  });
  const stopping = new AbortController();
  const snapshots: { snapshot: Snapshot; at: number }[] = [];
  let ran: Promise<void> | undefined;
  const stop = () => {
    stopping.abort();
    return ran;
  };
  t.after(async () => {
    await stop();
    await engine.stop();
    rmSync(directory, { recursive: true });
  });
  const run = () => {
    ran = source.run(stopping.signal, (snapshot) => snapshots.push({ snapshot, at: performance.now() }));
  };
  /** Waits for a snapshot with this summary, after those already waited for. */
  let seen = 0;
  const next = async (expected: string) => {
    for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await wait(1))
      for (; seen < snapshots.length; seen++) {
        const found = snapshots[seen];
        if (found && gist(found.snapshot) === expected) {
          seen += 1;
          return found;
        }
      }
    throw new Error(`not told "${expected}", but ${JSON.stringify(snapshots.map(({ snapshot }) => gist(snapshot)))}`);
  };
  return { engine, path, source, located: locating(source), log, run, stop, stopping, next, snapshots, listen: () => engine.listen(path) };
}

/** Opens the stream of a data plane, which reports the addresses of its interfaces. */
const locating = (source: Source) => (dataplane: string, addresses: string[]) =>
  source.notify?.({
    kind: 'applied',
    dataplane,
    applied: { instance: 'i', revision: 1, generation: 1, results: [], removed: [], addresses },
  });

/** The same, both running, with a data plane on the host. */
export async function started(t: User, clock: Clock = systemClock, translate: (snapshot: EngineSnapshot) => Translation = simply) {
  const parts = withEngine(t, clock, translate);
  await parts.listen();
  parts.located('d', []);
  parts.run();
  await parts.next('');
  return parts;
}

/** `a.example=healthy b.example=nowhere`, or why it failed. */
export function gist(snapshot: Snapshot): string {
  if (snapshot.kind === 'failed') return `failed: ${snapshot.errors.join()}`;
  return snapshot.routes
    .map(({ domain, upstreams }) => `${domain}=${upstreams.map(({ state }) => state).join('+') || 'nowhere'}`)
    .join(' ');
}

/** Routes with only the domain label; the meaning of labels is not the subject of these tests. */
function simply({ containers, draining, lastGood }: EngineSnapshot): Translation {
  const pools = Map.groupBy(
    containers.filter(({ status }) => status === 'running' || status === 'paused'),
    ({ labels }) => labels['sluice.domain'] ?? '',
  );
  const routes = [...pools].map(([domain, pool]) => {
    const upstreams = pool.map((container) => ({ address: '172.18.0.2:80', id: container.id, state: stateOf(container, draining) }));
    const read = readAppliedRoute({ domain, upstream: '172.18.0.2:80', tls: false, source: 'docker', upstreams });
    if ('problem' in read) throw new Error(`${read.problem.member}: ${read.problem.reason}`);
    return read.route;
  });
  const yes = { holds: true, reason: 'yes' };
  const readings = containers.map(({ id, name, labels, status }) => ({
    source: 'docker',
    kind: 'container',
    id,
    name,
    origin: `container ${name}`,
    section: null,
    domains: [labels['sluice.domain'] ?? ''],
    peers: { count: 0, names: [] },
    accepted: yes,
    resolved: status === 'running' ? yes : { holds: false, reason: status },
    address: status === 'running' ? '172.18.0.2:80' : null,
    change: null,
  }));
  return { routes, problems: [], readings, lastGood };
}

function stateOf({ id, status, health }: Container, draining: ReadonlySet<string>) {
  if (status === 'paused') return 'paused' as const;
  if (draining.has(id)) return 'draining' as const;
  return health === 'none' ? ('healthy' as const) : health;
}
