import { after, before, describe } from 'node:test';
import { Cluster, clusterNetwork } from './cluster.ts';

let shared: Cluster | undefined;

/** Runs files with tests one after the other, in one cluster: to start one takes two seconds of CPU time. Each can be run alone, too. */
export function shareCluster(files: readonly URL[]): void {
  const skip = clusterNetwork();
  describe('in one cluster', { skip }, () => {
    before(async () => {
      shared = await Cluster.start();
    });
    after(() => shared?.[Symbol.asyncDispose]());
    for (const { href } of files)
      describe(href.slice(href.lastIndexOf('/') + 1), async () => {
        await import(href);
      });
  });
}

/** The cluster that files share, or a new one for a file that is run alone. */
export async function joinCluster(): Promise<Cluster> {
  return shared ?? (await Cluster.start());
}

/** Leaves a shared cluster as it was before, and ends any other. */
export async function leaveCluster(cluster: Cluster | undefined): Promise<void> {
  if (cluster === shared) await shared?.clear();
  else await cluster?.[Symbol.asyncDispose]();
}
