import type { TestContext } from 'node:test';
import { type Clock, systemClock } from '../../../../shared/runtime/clock.ts';
import { systemRandom } from '../../../../shared/runtime/random.ts';
import { memoryLog } from '../../../../shared/runtime/testing/memory-log.ts';
import { type Cluster, openCluster } from '../api/cluster.ts';
import { FakeApiServer } from './fake-api-server.ts';

/** A client of a fake API server. Everything that `run` starts is stopped when the test ends. */
export async function fakeCluster(t: TestContext, clock: Clock = systemClock) {
  const server = new FakeApiServer();
  await server.start();
  const stopping = new AbortController();
  const running: Promise<void>[] = [];
  const cluster: Cluster = await openCluster({ kubeconfig: server.kubeconfig, clock });
  const stop = async () => {
    stopping.abort();
    await Promise.all(running);
  };
  t.after(async () => {
    await stop();
    await server[Symbol.asyncDispose]();
  });
  const run = (one: { run(signal: AbortSignal): Promise<void> }) => void running.push(one.run(stopping.signal));
  return { server, cluster, run, stop, parts: { cluster, clock, random: systemRandom, log: memoryLog() } };
}
